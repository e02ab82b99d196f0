/* SPDX-License-Identifier: Apache-2.0 */
/* See access.h. */
#include <stdio.h>
#include <string.h>

#include "agent/http/access.h"
#include "agent/nonce.h"

#define STATUS_UNAUTHORIZED 401
#define STATUS_FORBIDDEN    403
#define STATUS_MEDIA_TYPE   415

void access_init(struct access *access, uid_t uid, uint16_t port)
{
	*access = (struct access){.uid = uid, .port = port};
	nonce_make(access->token, ACCESS_SECRET_SIZE - 1);
	nonce_make(access->cookie, ACCESS_SECRET_SIZE - 1);
}

void access_make_url(struct access *access, char *url, size_t size)
{
	nonce_make(access->once, ACCESS_SECRET_SIZE - 1);
	(void)snprintf(url, size, "http://127.0.0.1:%u/?once=%s", access->port, access->once);
}

/*
 * Compares in constant time, so that the response time reveals nothing about the secret. An empty
 * secret matches nothing.
 */
static bool is_secret(const char *secret, const char *shown, size_t length)
{
	uint8_t difference = 0;

	if (!*secret || length != ACCESS_SECRET_SIZE - 1)
		return false;
	for (size_t i = 0; i < length; i++)
		difference |= (uint8_t)(secret[i] ^ shown[i]);
	return difference == 0;
}

static bool is_bearer(const struct access *access, const char *authorization)
{
	static const char scheme[] = "Bearer ";

	if (!authorization || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0)
		return false;
	authorization += sizeof scheme - 1;
	return is_secret(access->token, authorization, strlen(authorization));
}

/*
 * Searches "a=b; yett-PORT=SECRET; c=d". The name contains the port because browsers send a cookie
 * to all ports of a host.
 */
static bool has_cookie(const struct access *access, const char *cookies)
{
	char name[sizeof "yett-65535="];
	int length = snprintf(name, sizeof name, "yett-%u=", access->port);

	while (cookies && *cookies) {
		size_t end = strcspn(cookies, ";");

		if (strncmp(cookies, name, (size_t)length) == 0 &&
		    is_secret(access->cookie, cookies + length, end - (size_t)length))
			return true;
		cookies += end;
		cookies += strspn(cookies, "; ");
	}
	return false;
}

/* Accepts only names that mean this host independently of DNS. */
static bool is_local_host(const struct access_request *request, uint16_t port)
{
	static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
	char own[sizeof ":65535"];

	(void)snprintf(own, sizeof own, ":%u", port);
	for (size_t i = 0; i < ARRAY_SIZE(names) && request->host; i++) {
		size_t length = strlen(names[i]);
		const char *rest = request->host + length;

		if (strncasecmp(request->host, names[i], length) != 0)
			continue;
		if (request->is_tcp)
			return strcmp(rest, own) == 0;
		return !*rest ||
		       (*rest == ':' && strspn(rest + 1, "0123456789") == strlen(rest + 1));
	}
	return false;
}

/*
 * Browsers report the page that made a request in Origin. Browsers omit Origin for a navigation
 * that the user starts; other programs omit it always.
 */
static bool is_own_origin(const struct access_request *request)
{
	static const char scheme[] = "http://";

	return !request->origin ||
	       (strncmp(request->origin, scheme, sizeof scheme - 1) == 0 &&
	        strcasecmp(request->origin + sizeof scheme - 1, request->host) == 0);
}

/*
 * For cookies, all ports of a host are one site: the browser sends our cookie also with requests
 * from pages of other servers on this host, and without Origin if the request is a GET.
 * Sec-Fetch-Site reveals such requests. W3C, "Fetch Metadata Request Headers"
 */
static bool is_own_site(const struct access_request *request)
{
	return !request->site || strcmp(request->site, "same-origin") == 0 ||
	       strcmp(request->site, "none") == 0;
}

/*
 * A page of another origin can make a browser send text and forms, but not a body of the type
 * application/json: see "simple requests" in the Fetch standard (CSRF).
 */
static bool is_typed(const struct access_request *request)
{
	static const char json[] = "application/json";
	size_t length = sizeof json - 1;

	if (strcmp(request->method, "POST") != 0 && strcmp(request->method, "PUT") != 0)
		return true;
	if (!request->content_type)
		return !request->has_body && !request->is_tcp;
	return strncasecmp(request->content_type, json, length) == 0 &&
	       strchr("; \t", request->content_type[length]);
}

bool access_knows(const struct access *access, uid_t uid)
{
	return uid == access->uid || uid == 0;
}

int access_check(const struct access *access, const struct access_request *request,
                 unsigned *ret_status, struct yett_error *error)
{
	*ret_status = STATUS_FORBIDDEN;
	if (!access_knows(access, request->uid))
		return error_set(error, YETT_E_PERMISSION_DENIED, 0,
		                 "this server is another user's");
	if (!is_local_host(request, access->port))
		return error_set(error, YETT_E_PERMISSION_DENIED, 0,
		                 "the request was meant for another host: see its header Host");
	if (!is_own_origin(request))
		return error_set(
			error, YETT_E_PERMISSION_DENIED, 0,
			"the request comes from a web page of another origin: see its header Origin");
	if (request->is_tcp && !is_bearer(access, request->authorization) &&
	    !(has_cookie(access, request->cookies) && is_own_site(request))) {
		*ret_status = STATUS_UNAUTHORIZED;
		(void)error_set(error, YETT_E_PERMISSION_DENIED, 0,
		                "the request does not show the token of this server");
		error_mend(
			error,
			"send \"Authorization: Bearer TOKEN\" with what the server's token file holds, or open the URL that it "
			"printed");
		return YETT_E_PERMISSION_DENIED;
	}
	if (!is_typed(request)) {
		*ret_status = STATUS_MEDIA_TYPE;
		(void)error_set(
			error, YETT_E_INVALID_REQUEST, 0,
			"the body of a request must be JSON, with a header Content-Type for JSON");
		error_mend(error, "send \"Content-Type: application/json\"");
		return YETT_E_INVALID_REQUEST;
	}
	return 0;
}

bool access_spend(struct access *access, const char *once, char *header, size_t size)
{
	if (!is_secret(access->once, once, strlen(once)))
		return false;
	explicit_bzero(access->once, sizeof access->once);
	(void)snprintf(header, size, "yett-%u=%s; Path=/; HttpOnly; SameSite=Strict", access->port,
	               access->cookie);
	return true;
}
