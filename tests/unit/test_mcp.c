/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the Model Context Protocol: what is one, of which revision it is, and whose it is
 * where it cannot be read. */
#include <string.h>

#include "agent/fields.h"
#include "agent/mcp/mcp_id.h"
#include "agent/mcp/mcp_revision.h"
#include "tests/support/testing.h"

/* --- ids -------------------------------------------------------------------------------------- */

/* The id as JSON, seen in pieces of `piece` bytes; "" where there is none. */
static const char *id_of(const char *text, size_t piece)
{
	static char shown[MCP_ID_MAX + 1];
	struct mcp_id id = {0};
	json_t *value;
	char *dumped;

	for (size_t at = 0; at < strlen(text); at += piece)
		mcp_id_look(&id, text + at, strlen(text) - at < piece ? strlen(text) - at : piece);
	value = mcp_id_value(&id);
	dumped = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
	(void)snprintf(shown, sizeof shown, "%s", dumped ? dumped : "");
	free(dumped);
	json_decref(value);
	return shown;
}

TEST(an_id_is_found_in_what_is_no_json)
{
	static const struct {
		const char *text, *id;
	} cases[] = {
		{"{\"id\":7,\"method\":\"x\"}", "7"},
		{"{\"id\" : \"a b\\\"c\" , \"x\":", "\"a b\\\"c\""},
		{"{\"params\":{\"id\":1,\"x\":[{\"id\":2}]},\"id\":-3}", "-3"},
		{"{\"params\":{\"text\":\"}],\\\"id\\\":9,\"},\"id\":4}", "4"},
		{"{\"method\":\"x\",\"method\":\"y\",\"id\":5}", "5"},
		{"{\"text\":\"\\ud800\",\"id\":6}", "6"},
		{"{\"id\":1,\"id\":2}", ""},
		{"{\"id\":null}", ""},
		{"{\"id\":1.5}", ""},
		{"{\"id\":{\"id\":1}}", ""},
		{"{\"id\":[1]}", ""},
		{"{\"id\":1", ""},
		{"[{\"id\":1}]", ""},
		{"{id:1}", ""},
		{"", ""},
		{"\"id\"", ""},
		{"{\"id\"}", ""},
		{"{}{\"id\":1}", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_string_equal(id_of(cases[i].text, 1), cases[i].id);
		assert_string_equal(id_of(cases[i].text, 1000), cases[i].id);
	}
}

TEST(an_id_is_bounded)
{
	char id[2 * MCP_ID_MAX], text[sizeof id + 16];

	for (size_t length = MCP_ID_MAX - 3; length <= MCP_ID_MAX; length++) {
		(void)snprintf(id, sizeof id, "\"%0*d\"", (int)length, 0);
		(void)snprintf(text, sizeof text, "{\"id\":%s}", id);
		assert_string_equal(id_of(text, 1), strlen(id) <= MCP_ID_MAX ? id : "");
	}
}

/* --- messages --------------------------------------------------------------------------------- */

TEST(what_is_no_json_is_refused)
{
	static const char *const texts[] = {"",
	                                    "{",
	                                    "{\"a\":1,\"a\":2}",
	                                    "{\"a\":\"\\ud800\"}",
	                                    "{\"a\":\"\\u0000\"}",
	                                    "{\"a\":\"\xff\"}",
	                                    "{\"a\":1}x",
	                                    "1",
	                                    "{\"a\":99999999999999999999}"};
	struct mcp_refusal refusal;
	char deep[20001];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_null(mcp_rpc_parse(texts[i], strlen(texts[i]), &refusal));
		assert_int_equal(refusal.code, MCP_PARSE_ERROR);
		assert_int_equal(refusal.http_status, 400);
		assert_true(field_is_text(refusal.message,
		                          strlen(refusal.message))); /* whatever it quotes */
	}
	memset(deep, '[', 10000);
	memset(deep + 10000, ']', 10000);
	assert_null(mcp_rpc_parse(deep, 20000, &refusal));
	assert_null(mcp_rpc_parse("{\"a\":1}\0", 8, &refusal));
}

static enum mcp_kind kind_of(const char *text, struct mcp_refusal *refusal)
{
	json_t *message = mcp_rpc_parse(text, strlen(text), refusal);
	enum mcp_kind kind;

	assert_non_null(message);
	kind = mcp_rpc_kind(message, refusal);
	json_decref(message);
	return kind;
}

TEST(messages_are_told_apart)
{
	static const struct {
		const char *text;
		enum mcp_kind kind;
		int code;
	} cases[] = {
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}", MCP_REQUEST, 0},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"x\",\"params\":{}}", MCP_REQUEST,
	         0},
		{"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", MCP_NOTIFICATION, 0},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", MCP_ANSWER, 0},
		{"{\"jsonrpc\":\"2.0\",\"error\":{}}", MCP_ANSWER, 0},
		{"[]", MCP_NO_MESSAGE, MCP_INVALID_REQUEST},
		{"{}", MCP_NO_MESSAGE, MCP_INVALID_REQUEST},
		{"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"x\"}", MCP_NO_MESSAGE,
	         MCP_INVALID_REQUEST},
		{"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}", MCP_NO_MESSAGE,
	         MCP_INVALID_REQUEST},
		{"{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"x\"}", MCP_NO_MESSAGE,
	         MCP_INVALID_REQUEST},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", MCP_NO_MESSAGE,
	         MCP_INVALID_REQUEST},
		{"{\"jsonrpc\":\"2.0\",\"id\":1}", MCP_NO_MESSAGE, MCP_INVALID_REQUEST},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[]}", MCP_NO_MESSAGE,
	         MCP_INVALID_PARAMS},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":null}", MCP_NO_MESSAGE,
	         MCP_INVALID_PARAMS},
	};
	struct mcp_refusal refusal;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		refusal = (struct mcp_refusal){0};
		assert_int_equal(kind_of(cases[i].text, &refusal), cases[i].kind);
		assert_int_equal(refusal.code, cases[i].code);
	}
}

TEST(a_refusal_that_quotes_is_cut_between_characters)
{
	struct mcp_refusal refusal;
	char name[400];

	for (size_t begin = 0; begin < 3; begin++) {
		memset(name, 'a', begin);
		for (size_t at = begin; at + 3 < sizeof name; at += 3)
			memcpy(name + at, "\u20ac", 4);
		(void)mcp_rpc_refuse(&refusal, MCP_INVALID_PARAMS, "%s", name);
		assert_true(field_is_text(refusal.message, strlen(refusal.message)));
		assert_true(strlen(refusal.message) > 250);
	}
}

/* --- revisions -------------------------------------------------------------------------------- */

#define META(version)                                                     \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":" version \
	",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define LIST     "{\"method\":\"tools/list\",\"params\":{" META("\"2026-07-28\"") "}}"
#define OLD_LIST "{\"method\":\"tools/list\"}"
#define CALL \
	"{\"method\":\"tools/call\",\"params\":{\"name\":\"\u00e4\"," META("\"2026-07-28\"") "}}"

static int revision_of(const char *text, const struct mcp_headers *headers, const char *agreed,
                       bool *ret_is_modern, struct mcp_refusal *refusal)
{
	json_t *message = json_loads(text, 0, NULL);
	int r;

	assert_non_null(message);
	*refusal = (struct mcp_refusal){0};
	r = mcp_revision_of(message, headers, agreed, ret_is_modern, refusal);
	json_decref(message);
	json_decref(refusal->data);
	return r;
}

TEST(a_request_tells_its_revision_or_one_was_agreed_on)
{
	static const struct {
		const char *text, *agreed;
		int code;
		bool is_modern;
	} cases[] = {
		{LIST, NULL, 0, true},
		{LIST, "2025-11-25", 0, true},
		{OLD_LIST, "2025-11-25", 0, false},
		{OLD_LIST, NULL, MCP_INVALID_PARAMS, false},
		{"{\"method\":\"server/discover\",\"params\":{}}", NULL, MCP_INVALID_PARAMS, false},
		{"{\"method\":\"initialize\"}", NULL, 0, false},
		{"{\"method\":\"ping\"}", NULL, 0, false},
		{"{\"method\":\"x\",\"params\":{" META("\"2025-11-25\"") "}}", NULL,
	         MCP_UNSUPPORTED_VERSION, false},
		{"{\"method\":\"x\",\"params\":{" META("1") "}}", NULL, MCP_INVALID_PARAMS, false},
		{"{\"method\":\"x\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}",
	         NULL, MCP_INVALID_PARAMS, false},
	};
	struct mcp_refusal refusal;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool is_modern = false;

		assert_int_equal(
			revision_of(cases[i].text, NULL, cases[i].agreed, &is_modern, &refusal),
			cases[i].code);
		assert_int_equal(is_modern, cases[i].is_modern);
	}
}

TEST(headers_say_what_the_body_says)
{
	static const struct {
		const char *text;
		struct mcp_headers headers;
		int code;
		bool is_modern;
	} cases[] = {
		{LIST, {.version = "2026-07-28", .method = "tools/list"}, 0, true},
		{LIST,
	         {.version = "2025-11-25", .method = "tools/list"},
	         MCP_HEADER_MISMATCH,
	         false},
		{LIST, {.method = "tools/list"}, MCP_HEADER_MISMATCH, false},
		{LIST, {.version = "2026-07-28"}, MCP_HEADER_MISMATCH, false},
		{LIST,
	         {.version = "2026-07-28", .method = "TOOLS/LIST"},
	         MCP_HEADER_MISMATCH,
	         false},
		{CALL,
	         {.version = "2026-07-28", .method = "tools/call"},
	         MCP_HEADER_MISMATCH,
	         false},
		{CALL,
	         {.version = "2026-07-28", .method = "tools/call", .name = "a"},
	         MCP_HEADER_MISMATCH,
	         false},
		{CALL,
	         {.version = "2026-07-28", .method = "tools/call", .name = "=?base64?w6Q=?="},
	         0,
	         true},
		{CALL,
	         {.version = "2026-07-28", .method = "tools/call", .name = "=?base64?w6Q?="},
	         MCP_HEADER_MISMATCH,
	         false},
		{CALL,
	         {.version = "2026-07-28", .method = "tools/call", .name = "=?base64?!!!!?="},
	         MCP_HEADER_MISMATCH,
	         false},
		{CALL,
	         {.version = "2026-07-28", .method = "tools/call", .name = "=?="},
	         MCP_HEADER_MISMATCH,
	         false},
		{OLD_LIST,
	         {.version = "2026-07-28", .method = "tools/list"},
	         MCP_INVALID_PARAMS,
	         false},
		{OLD_LIST, {.version = "2025-11-25"}, 0, false},
		{OLD_LIST, {0}, 0, false},
		{OLD_LIST, {.version = "1999-01-01"}, MCP_UNSUPPORTED_VERSION, false},
		{"{\"method\":\"initialize\"}", {.version = "1999-01-01"}, 0, false},
	};
	struct mcp_refusal refusal;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool is_modern = false;

		assert_int_equal(
			revision_of(cases[i].text, &cases[i].headers, NULL, &is_modern, &refusal),
			cases[i].code);
		assert_int_equal(is_modern, cases[i].is_modern);
		if (cases[i].code)
			assert_int_equal(refusal.http_status, 400);
	}
}

TEST(an_earlier_revision_is_agreed_on)
{
	assert_string_equal(mcp_revision_agree("2024-11-05"), "2024-11-05");
	assert_string_equal(mcp_revision_agree("2026-07-28"), "2025-11-25");
	assert_string_equal(mcp_revision_agree(""), "2025-11-25");
	assert_true(mcp_revision_has_batches("2025-03-26"));
	assert_false(mcp_revision_has_batches("2025-06-18"));
	assert_false(mcp_revision_has_batches(NULL));
}

TEST_MAIN(NULL, NULL)
