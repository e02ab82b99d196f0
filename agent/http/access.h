/*
 * Who may ask for something by HTTP: a pure decision about what a request says of itself.
 *
 * By a Unix socket it is the peer's uid that counts. By TCP everybody on the host, and every web
 * page that the user opens, can connect: there it takes a secret, and a browser has to have been
 * led there by this server. With the caller's privilege.
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"

#define ACCESS_SECRET_SIZE 65 /* 64 hexadecimal digits and a NUL */

struct access {
	uid_t uid;     /* of whom the server runs as; root may ask, too */
	uint16_t port; /* of TCP; 0: none */
	/* Of TCP. */
	char token[ACCESS_SECRET_SIZE];  /* for "Authorization: Bearer" */
	char cookie[ACCESS_SECRET_SIZE]; /* what a browser has once it has shown `once` */
	char once[ACCESS_SECRET_SIZE];   /* of the URL that makes one request a browser's; empty: it
	                                    is spent */
};

/* What is known of a request; each text may be NULL, which is: there is none. */
struct access_request {
	bool is_tcp;
	uid_t uid; /* of the peer */
	const char *method, *host, *origin, *site, *authorization, *cookies,
		*content_type; /* site: Sec-Fetch-Site */
	bool has_body;
};

/* Secrets that nobody can guess. */
void access_init(struct access *access, uid_t uid, uint16_t port);

/* Another `once`, and the URL that has it, in url[0 … size). */
void access_make_url(struct access *access, char *url, size_t size);

/* Whether somebody of this uid may ask for anything at all. */
bool access_knows(const struct access *access, uid_t uid);

/*
 * Whether the request may be answered; *ret_status is the status of a refusal. Its body is not
 * looked at.
 *
 * Host and Origin: a page of a foreign name that was made to lead here (DNS rebinding) says so in
 * Host, one of a foreign place in Origin. By TCP these are 127.0.0.1 or localhost, with the port;
 * by the Unix socket any port, as where something else leads there.
 */
_must_check_ int access_check(const struct access *access, const struct access_request *request,
                              unsigned *ret_status, struct yett_error *error);

/* Where `once` is what the URL had: it is spent, and the text of the header Set-Cookie is written
 * to header[0 … size). */
_must_check_ bool access_spend(struct access *access, const char *once, char *header, size_t size);
