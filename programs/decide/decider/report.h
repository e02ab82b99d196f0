/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the monitor's records of sandboxes into messages for clients. Pure, except that it reads
 * the clock; no privilege.
 */
#pragma once

#include "helper/monitor/decider.h"
#include "protocol/message.h"

/* The limits of a plan that messages report to clients. */
struct message_limits report_limits(const struct plan_limits *limits);

/*
 * Clears the values of the plan and leaves those that root itself knows. A compromised decider can
 * put values into a plan that no message can carry.
 */
void report_without_plan(struct record *record);

/* Makes `message` a MESSAGE_SANDBOX, or a MESSAGE_USAGE as of now. Returns 0 or -ENOSPC. */
_must_check_ int report_sandbox(const struct record *record, struct message *message);
_must_check_ int report_usage(const struct decider_record *from, struct message *message);
