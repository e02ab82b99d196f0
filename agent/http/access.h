/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether an HTTP request may be served: a pure function of the peer and the headers.
 *
 * On a Unix socket, the peer's uid decides. Over TCP, every process on the host, and every web page
 * that the user opens, can connect. TCP requests therefore need a secret, and a browser gets its
 * secret only from a URL that this server printed. Runs with the caller's privilege.
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"

#define ACCESS_SECRET_SIZE 65 /* 64 hexadecimal digits and a NUL */

struct access {
	uid_t uid;     /* the user of the server; root has access, too */
	uint16_t port; /* TCP port; 0: no TCP */
	/* Only for TCP: */
	char token[ACCESS_SECRET_SIZE];  /* for "Authorization: Bearer" */
	char cookie[ACCESS_SECRET_SIZE]; /* for a browser that has shown `once` */
	/* One-time secret in the printed URL, exchanged for the cookie. Empty: used up. */
	char once[ACCESS_SECRET_SIZE];
};

/* The properties of a request that matter for access. NULL strings: header not sent. */
struct access_request {
	bool is_tcp;
	uid_t uid; /* of the peer */
	/* `site` is the header Sec-Fetch-Site. */
	const char *method, *host, *origin, *site, *authorization, *cookies, *content_type;
	bool has_body;
};

/* Creates random secrets. */
void access_init(struct access *access, uid_t uid, uint16_t port);

/* Creates a new `once`, and writes the URL that contains it to url[0 … size). */
void access_make_url(struct access *access, char *url, size_t size);

/* Whether requests of this uid may be served at all. */
bool access_knows(const struct access *access, uid_t uid);

/*
 * Checks whether the request may be served; on refusal, `*ret_status` is the HTTP status. Does not
 * read the body.
 *
 * Host stops DNS rebinding, where a foreign name resolves to this host; Origin stops pages of other
 * origins. Over TCP, Host must be a local name with our port. On the Unix socket any port is
 * accepted, since a forwarder may listen on another one.
 */
_must_check_ int access_check(const struct access *access, const struct access_request *request,
                              unsigned *ret_status, struct yett_error *error);

/*
 * If `once` matches, invalidates it, and writes the value of the header Set-Cookie to header[0 …
 * size).
 */
_must_check_ bool access_spend(struct access *access, const char *once, char *header, size_t size);
