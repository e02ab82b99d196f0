/* SPDX-License-Identifier: Apache-2.0 */
/* See response.h. */
#include "agent/http/response.h"

#include "base/fd.h"

/*
 * Headers of every response. The page may load, execute and connect to nothing but this server.
 * Trusted Types, of which it may create none, keep mistakes in its scripts from turning text into
 * elements or code. No page may frame ours, and no response is interpreted as another type than
 * declared. Nothing is cached, so that another user of the browser, or a browser with another
 * token, gets nothing from a cache.
 */
static const char *const always[][2] = {
	{"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action "
         "'none'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'"},
	{"X-Content-Type-Options", "nosniff"},
	{"Referrer-Policy", "no-referrer"},
	{"Cache-Control", "no-store"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
};

void response_finish(struct MHD_Response *response, const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		(void)MHD_add_response_header(response, always[i][0], always[i][1]);
	if (type)
		(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
}
