/* SPDX-License-Identifier: Apache-2.0 */
/* See tunnel.h. */
#include "programs/net/tunnel.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define READ_SIZE 1024

int tunnel_ask(struct tunnel *tunnel, int fd, const char *name, const struct net_address *address,
               uint16_t port)
{
	char text[NET_ADDRESS_TEXT_SIZE], to[NET_NAME_SIZE + 16], request[2 * sizeof to + 64];
	bool is_v6 = !*name && !net_address_is_v4(address);
	ssize_t sent;
	int length;

	(void)snprintf(to, sizeof to, is_v6 ? "[%s]:%u" : "%s:%u",
	               *name ? name : net_address_print(address, text), port);
	length = snprintf(request, sizeof request, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to,
	                  to);
	tunnel->asked = (uint32_t)length;
	/* A socket that has just connected has room for the request. */
	sent = send(fd, request, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT);
	return sent < 0 ? -errno : sent == length ? 0 : -EIO;
}

/*
 * Takes one byte of the header. Returns whether the header has ended. A line ends with LF, which CR
 * may precede. RFC 9112, 2.2
 */
static bool take_byte(struct tunnel *tunnel, char byte)
{
	tunnel->answered++;
	if (byte == '\r')
		return false;
	if (byte == '\n') {
		bool is_end = tunnel->line == 0;

		tunnel->line = 0;
		/* The status line has ended: `first` must get no bytes of later lines. */
		if (tunnel->first_bytes < TUNNEL_STATUS_SIZE)
			tunnel->first_bytes = TUNNEL_STATUS_SIZE;
		return is_end;
	}
	tunnel->line++;
	if (tunnel->first_bytes < TUNNEL_STATUS_SIZE)
		tunnel->first[tunnel->first_bytes++] = byte;
	return false;
}

static bool tunnel_is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

/* Returns the status, 100 to 599, or 0 if this is no status line. */
static int read_status(const struct tunnel *tunnel)
{
	const char *at = tunnel->first;
	int status;

	if (memcmp(at, "HTTP/1.", 7) != 0 || !tunnel_is_digit(at[7]) || at[8] != ' ' ||
	    !tunnel_is_digit(at[9]) || !tunnel_is_digit(at[10]) || !tunnel_is_digit(at[11]) ||
	    (at[12] != ' ' && at[12] != '\0'))
		return 0;
	status = (at[9] - '0') * 100 + (at[10] - '0') * 10 + at[11] - '0';
	return status < 100 || status > 599 ? 0 : status;
}

/*
 * Peeks at the data, and takes nothing after the end of the header. Returns 1 if the header has
 * ended, 0 if not yet, or -errno.
 */
static int tunnel_read_some(struct tunnel *tunnel, int fd)
{
	char bytes[READ_SIZE];
	ssize_t seen = recv(fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT), taken = 0;
	bool is_end = false;

	if (seen <= 0)
		return seen < 0 ? -errno : -ECONNRESET;
	while (!is_end && taken < seen && tunnel->answered < TUNNEL_HEADER_MAX)
		is_end = take_byte(tunnel, bytes[taken++]);
	if (recv(fd, bytes, (size_t)taken, MSG_DONTWAIT) != taken)
		return -EIO;
	if (!is_end)
		return tunnel->answered < TUNNEL_HEADER_MAX ? 0 : -EMSGSIZE;
	return 1;
}

int tunnel_hear(struct tunnel *tunnel, int fd)
{
	for (;;) {
		int r = tunnel_read_some(tunnel, fd), status;

		if (r < 0)
			return r;
		if (tunnel->first_bytes == TUNNEL_STATUS_SIZE && read_status(tunnel) == 0)
			return -EPROTO;
		if (r == 0)
			continue;
		status = read_status(tunnel);
		if (status >= 200)
			return status < 300 ? 0 : status;
		/* A 1xx status: another answer follows. RFC 9110, 15.2 */
		tunnel->first_bytes = 0;
		memset(tunnel->first, 0, sizeof tunnel->first);
	}
}
