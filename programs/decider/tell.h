/*
 * What the monitor tells of sandboxes, as clients are told it. Pure, but for the time; no
 * privilege.
 */
#pragma once

#include "helper/monitor/decider.h"
#include "protocol/message.h"

/* Of a plan's limits those that clients are told. */
struct message_limits tell_limits(const struct plan_limits *limits);

/* Leaves what root itself knows of a sandbox: a captured decider has it planned with what no
 * message can carry. */
void tell_without_plan(struct record *record);

/* Makes `message` a MESSAGE_SANDBOX, or a MESSAGE_USAGE as of now. 0 or -ENOSPC. */
_must_check_ int tell_sandbox(const struct record *record, struct message *message);
_must_check_ int tell_usage(const struct decider_record *from, struct message *message);
