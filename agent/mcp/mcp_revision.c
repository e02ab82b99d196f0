/* SPDX-License-Identifier: Apache-2.0 */
/* See mcp_revision.h. */
#include "agent/mcp/mcp_revision.h"

#include <sodium.h>
#include <string.h>

#define LATEST_LEGACY  "2025-11-25"
#define WITHOUT_HEADER "2025-03-26" /* the revision of a POST without MCP-Protocol-Version */
#define WITH_BATCHES   "2025-03-26"
#define NAME_BEGIN     "=?base64?" /* begins an encoded Mcp-Name */
#define NAME_END       "?="

static const char *const legacy[] = {LATEST_LEGACY, "2025-06-18", "2025-03-26", "2024-11-05"};

/*
 * Skips leading white space, and returns the length without trailing white space: neither belongs
 * to a header's value (RFC 9110, 5.5).
 */
static size_t trimmed(const char **header)
{
	size_t length;

	*header += strspn(*header, " \t");
	length = strlen(*header);
	while (length > 0 && strchr(" \t", (*header)[length - 1]))
		length--;
	return length;
}

/* False for NULL. */
static bool header_is(const char *header, const char *text)
{
	size_t length = header ? trimmed(&header) : 0;

	return header && length == strlen(text) && strncmp(header, text, length) == 0;
}

static const char *find_legacy(const char *version)
{
	for (size_t i = 0; i < ARRAY_SIZE(legacy); i++) {
		if (header_is(version, legacy[i]))
			return legacy[i];
	}
	return NULL;
}

const char *mcp_revision_agree(const char *asked)
{
	const char *found = find_legacy(asked);

	return found ? found : LATEST_LEGACY;
}

bool mcp_revision_has_batches(const char *version)
{
	return version && strcmp(version, WITH_BATCHES) == 0;
}

json_t *mcp_revision_list(void)
{
	return json_pack("[s]", MCP_REVISION);
}

const char *mcp_revision_of_headers(const struct mcp_headers *headers)
{
	return headers->version ? find_legacy(headers->version) : WITHOUT_HEADER;
}

static int refuse_version(const char *asked, struct mcp_refusal *refusal)
{
	(void)mcp_rpc_refuse(refusal, MCP_UNSUPPORTED_VERSION,
	                     "this revision of the protocol is not supported");
	refusal->data =
		json_pack("{s:o, s:s}", "supported", mcp_revision_list(), "requested", asked);
	return refusal->code;
}

static int refuse_meta(const char *member, struct mcp_refusal *refusal)
{
	(void)mcp_rpc_refuse(
		refusal, MCP_INVALID_PARAMS,
		"each request of " MCP_REVISION
		" has \"%s\" in \"_meta\" of its \"params\"; earlier revisions begin with "
		"\"initialize\"",
		member);
	refusal->http_status = 400;
	return refusal->code;
}

static int refuse_header(const char *header, struct mcp_refusal *refusal)
{
	return mcp_rpc_refuse(refusal, MCP_HEADER_MISMATCH,
	                      "the header %s is missing, or differs from the body", header);
}

/* Whether a header has the value `text`, plain or encoded in base64. */
static bool name_is(const char *header, const char *text)
{
	size_t begin = strlen(NAME_BEGIN), end = strlen(NAME_END),
	       length = header ? trimmed(&header) : 0, decoded_length = 0;
	_cleanup_free_ unsigned char *decoded = NULL;

	if (length < begin + end || strncmp(header, NAME_BEGIN, begin) != 0 ||
	    strncmp(header + length - end, NAME_END, end) != 0)
		return header_is(header, text);
	decoded = malloc(length);
	return decoded &&
	       sodium_base642bin(decoded, length, header + begin, length - begin - end, NULL,
	                         &decoded_length, NULL, sodium_base64_VARIANT_ORIGINAL) == 0 &&
	       decoded_length == strlen(text) && memcmp(decoded, text, decoded_length) == 0;
}

/* The member of "params" that Mcp-Name must repeat. NULL: the method has none. */
static const char *named_member(const char *method)
{
	if (strcmp(method, "tools/call") == 0 || strcmp(method, "prompts/get") == 0)
		return "name";
	return strcmp(method, "resources/read") == 0 ? "uri" : NULL;
}

static int check_headers(const json_t *message, const struct mcp_headers *headers,
                         struct mcp_refusal *refusal)
{
	const char *method = json_string_value(json_object_get(message, "method")),
		   *member = named_member(method);
	const char *name = member ? json_string_value(json_object_get(
					    json_object_get(message, "params"), member))
	                          : NULL;

	if (!header_is(headers->method, method))
		return refuse_header("Mcp-Method", refusal);
	if (name && !name_is(headers->name, name))
		return refuse_header("Mcp-Name", refusal);
	return 0;
}

static int check_modern(const json_t *message, const struct mcp_headers *headers,
                        struct mcp_refusal *refusal)
{
	const json_t *meta = json_object_get(json_object_get(message, "params"), "_meta");
	const char *version = json_string_value(json_object_get(meta, MCP_META_VERSION));

	if (!version)
		return refuse_meta(MCP_META_VERSION, refusal);
	if (headers && !header_is(headers->version, version))
		return refuse_header("MCP-Protocol-Version", refusal);
	if (strcmp(version, MCP_REVISION) != 0)
		return refuse_version(version, refusal);
	if (!json_is_object(json_object_get(meta, MCP_META_CAPABILITIES)))
		return refuse_meta(MCP_META_CAPABILITIES, refusal);
	return headers ? check_headers(message, headers, refusal) : 0;
}

int mcp_revision_of(const json_t *message, const struct mcp_headers *headers, const char *agreed,
                    bool *ret_is_modern, struct mcp_refusal *refusal)
{
	const json_t *meta = json_object_get(json_object_get(message, "params"), "_meta");
	const char *method = json_string_value(json_object_get(message, "method"));
	bool begins = strcmp(method, "initialize") == 0;
	bool is_modern = json_object_get(meta, MCP_META_VERSION) ||
	                 (headers && header_is(headers->version, MCP_REVISION));
	int r = 0;

	if (is_modern)
		r = check_modern(message, headers, refusal);
	else if (headers && !begins && !mcp_revision_of_headers(headers))
		r = refuse_version(headers->version, refusal);
	else if (!headers && !agreed && !begins && strcmp(method, "ping") != 0)
		r = refuse_meta(MCP_META_VERSION, refusal);
	if (r == 0)
		*ret_is_modern = is_modern;
	return r;
}
