/* SPDX-License-Identifier: Apache-2.0 */
/* See connection.h. */
#include "programs/decide/decider/connection.h"
#include "programs/decide/decider/ask.h"

#include <linux/sockios.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/*
 * Each refusal after the first REFUSALS_AT_ONCE delays its client by REFUSAL_PAUSE_MS: a client
 * that sends bad requests in a loop must not slow down others.
 */
#define REFUSALS_AT_ONCE 4
#define REFUSAL_PAUSE_MS 20
/* answers with a memfd, while the client has not read everything that it was sent */
#define MEMORY_SENT_MAX 16

void connection_answer(struct connection *c, uint64_t sequence, int fd)
{
	if (frame_send_message(c->socket, c->message, sequence, &fd, fd >= 0 ? 1 : 0,
	                       MSG_DONTWAIT) < 0)
		c->is_over = true;
}

static void report_client(struct connection *c, uint64_t sequence, const struct yett_error *error)
{
	if (frame_send_error(c->socket, error, sequence, MSG_DONTWAIT) < 0)
		c->is_over = true;
	if (++c->refusals > REFUSALS_AT_ONCE)
		(void)poll(NULL, 0, REFUSAL_PAUSE_MS);
}

void connection_refuse(struct connection *c, uint64_t sequence, const struct yett_error *error)
{
	/* Report to the monitor first: a client that exits on the error soon ends this process. */
	if (!ask_was_too_late())
		ask_report_bytes(ACT_REFUSED, error, sizeof *error);
	report_client(c, sequence, error);
}

void connection_refuse_reported(struct connection *c, uint64_t sequence,
                                const struct yett_error *error)
{
	ask_log(LOG_LEVEL_INFO, "refused: %s%s%s", error->message, error->detail[0] ? "; " : "",
	        error->detail);
	report_client(c, sequence, error);
}

void connection_drop(struct connection *c)
{
	struct decider_answer answer;
	struct yett_error error;

	c->is_over =
		ask(ACT_DROP, NULL, 0, &answer, NULL, &error) != 0 || answer.is_over || c->is_over;
}

void connection_take_back(struct connection *c)
{
	bool has_fds;

	c->taker = -1;
	ask_report(ACT_TAKEN);
	if (frame_peek(c->socket, c->frame, &has_fds) > 0 && has_fds &&
	    memcmp(c->frame->bytes, c->head, sizeof c->head) == 0)
		connection_drop(c);
}

int connection_check_unread(struct connection *c, struct yett_error *error)
{
	int unread = 0;

	if (ioctl(c->socket, SIOCOUTQ, &unread) < 0 || unread == 0)
		c->memory_sent = 0;
	if (c->memory_sent == MEMORY_SENT_MAX)
		return error_set(error, YETT_E_RESOURCE_LIMIT, 0,
		                 "earlier answers wait to be read");
	c->memory_sent++;
	return 0;
}

int connection_send_plan(struct connection *c, uint64_t sequence, struct yett_error *error)
{
	_cleanup_fd_ int memfd = -1;
	int r = decoder_print(c->decoder, c->plan, DECODER_TIMEOUT_MS, &memfd, error);

	if (r < 0)
		return r;
	(void)message_begin(c->message, MESSAGE_PLAN);
	connection_answer(c, sequence, memfd);
	return 0;
}
