/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a decision: its order, its values, and what is refused. */
#include "tests/support/testing.h"
#include "tests/unit/decide.h"
#include "programs/decide/decider/plan_name.h"
#include "programs/decide/decider/refuse.h"
#include "programs/decide/decider/refuse_plan.h"
#include "programs/inside/init/build/build.h"
#include "tests/unit/printed.h"

#define GRANT \
	"grant \"g\" { users = {\"*\"} profiles = {\"*\"} share_ro = {\"/usr\"} share_rw = {\"/srv\"} max_sandboxes = 3 user_pids = 9 }\n"
#define PLAIN \
	"profile \"default\" { system = {\"/usr\", \"/opt/tools/bin\"} memory = 1G tmp_size = 64M }\n" GRANT

static const char *text(const struct decide *d, struct plan_text t)
{
	return plan_text(&d->plan, t);
}

static const struct plan_step *find(const struct decide *d, const char *target)
{
	for (uint32_t i = 0; i < d->plan.steps_count; i++)
		if (strcmp(text(d, d->plan.steps[i].target), target) == 0)
			return &d->plan.steps[i];
	fail_msg("no step for %s", target);
	return NULL;
}

static void refused(struct decide *d, const char *message, const char *detail)
{
	int r = decide_plan(d);

	if (r != YETT_E_INVALID_REQUEST || !strstr(d->error.message, message) ||
	    !strstr(d->error.detail, detail))
		fail_msg("%d: %s (%s)", r, d->error.message, d->error.detail);
}

WITH_DECIDE(the_steps_stand_in_their_order)
{
	uint32_t last = 0;

	decide_policy(d, PLAIN);
	decide_share(d, 0, SHARE_RO, "/work/a");
	decide_tmpfs(d, "/work", 1u << 20);
	assert_int_equal(decide_plan(d), 0);
	assert_string_equal(d->plan.id, DECIDE_ID);
	for (uint32_t i = 0; i < d->plan.steps_count; i++) {
		assert_true(d->plan.steps[i].kind >= last);
		last = d->plan.steps[i].kind;
	}
	assert_int_equal(d->plan.steps[0].kind, PLAN_SLOT);
	assert_int_equal(last, PLAN_INIT);
}

WITH_DECIDE(parents_are_mounted_before_children_whatever_the_order_asked)
{
	static const char *const expected[] = {"/a", "/b", "/a/x", "/b/x", "/a/x/y"};
	size_t n = 0;

	decide_policy(
		d,
		"profile \"default\" { share_ro = {\"/usr/share:/b/x\"} tmpfs = {\"/a:2M\"} }\n" GRANT);
	decide_share(d, 1, SHARE_RW, "/a/x/y");
	decide_share(d, 0, SHARE_RW, "/a/x");
	decide_tmpfs(d, "/b", 0);
	assert_int_equal(decide_plan(d), 0);
	for (uint32_t i = 0; i < d->plan.steps_count; i++) {
		const struct plan_step *step = &d->plan.steps[i];

		if (step->kind == PLAN_TMPFS || step->kind == PLAN_SHARE || step->kind == PLAN_HOST)
			assert_string_equal(text(d, step->target), expected[n++]);
	}
	assert_int_equal(n, ARRAY_SIZE(expected));
	assert_int_equal(find(d, "/a")->size_bytes, 2 << 20);
	assert_int_equal(find(d, "/a")->mode, 01777);
	assert_int_equal(find(d, "/b")->size_bytes, 256 << 20);
	assert_int_equal(find(d, "/a/x/y")->fd, 1);
	assert_true(find(d, "/a/x/y")->writable);
	assert_string_equal(text(d, find(d, "/b/x")->source), "/usr/share");
	assert_non_null(strstr(text(d, find(d, "/b/x")->from), "/c:1"));
	assert_string_equal(text(d, find(d, "/b")->from), "");
}

WITH_DECIDE(a_share_carries_the_directories_it_must_lie_below)
{
	decide_policy(d, PLAIN);
	decide_share(d, 0, SHARE_RO, "/r");
	decide_share(d, 1, SHARE_RW, "/w");
	assert_int_equal(decide_plan(d), 0);
	assert_string_equal(text(d, find(d, "/r")->source), "/usr\n/srv");
	assert_string_equal(text(d, find(d, "/w")->source), "/srv");
	assert_int_equal(d->plan.share_fds, 2);
	decide_policy(
		d,
		"profile \"default\" { }\ngrant \"g\" { users = {\"*\"} profiles = {\"*\"} share_ro = {\"/usr\", \"*\"} share_rw = {\"/srv\"} }");
	assert_int_equal(decide_plan(d), 0);
	assert_string_equal(text(d, find(d, "/r")->source), "*");
	assert_string_equal(text(d, find(d, "/w")->source), "/srv");
}

WITH_DECIDE(a_socket_is_one_of_those_that_the_grant_names_for_the_caller)
{
	static const char said[] =
		"/run/s, descriptor 1, a socket, from /run/user/1000/bus /tmp/.X11-unix/X0 /run/user/1001/a";
	_cleanup_free_ char *printed = NULL;
	size_t length;

	decide_policy(
		d,
		"profile \"default\" { overlay_ro = true }\n"
		"grant \"g\" { users = {\"*\"} profiles = {\"*\"} share_ro = {\"*\"} share_rw = {\"/srv\"}\n"
		"sockets = {\"/run/user/%u/bus\", \"/tmp/.X11-unix/X0\", \"/run/user/1001/a\"} }");
	decide_share(d, 0, SHARE_RW, "/w");
	decide_share(d, 1, SHARE_SOCKET, "/run/s");
	assert_int_equal(decide_plan(d), 0);
	assert_string_equal(text(d, find(d, "/run/s")->source),
	                    "/run/user/1000/bus\n/tmp/.X11-unix/X0\n/run/user/1001/a");
	assert_non_null(strstr(text(d, find(d, "/run/s")->from), ":3"));
	assert_true(find(d, "/run/s")->is_socket && !find(d, "/run/s")->writable &&
	            !find(d, "/w")->is_socket);
	assert_string_equal(text(d, find(d, "/w")->source), "/srv");
	printed = printed_plan(&d->plan, &length);
	if (!strstr(printed, said))
		fail_msg("%s: not in\n%s", said, printed);
}

WITH_DECIDE(in_the_network_of_the_host_nothing_is_made_of_one)
{
	static const char weaker[] =
		"by the network of the host: it reaches all that the host reaches, and what listens on 127.0.0.1";
	_cleanup_free_ char *printed = NULL;
	size_t length;

	decide_policy(
		d,
		"profile \"default\" { allow = {\"a.org\"} }\ngrant \"g\" { users = {\"*\"} profiles = {\"*\"} network = host }");
	d->request.body.create.network = NETWORK_HOST;
	assert_int_equal(decide_plan(d), 0);
	assert_int_equal(d->plan.network, PLAN_NETWORK_HOST);
	assert_string_equal(d->plan.weaker, weaker);
	for (uint32_t i = 0; i < d->plan.steps_count; i++) {
		assert_int_not_equal(d->plan.steps[i].kind, PLAN_LOOPBACK);
		if (d->plan.steps[i].kind == PLAN_NETWORK)
			assert_string_equal(text(d, d->plan.steps[i].source), "");
	}
	printed = printed_plan(&d->plan, &length);
	assert_non_null(strstr(printed, "namespaces     mount pid ipc uts cgroup\n"));
	assert_non_null(strstr(printed, "network        host\n"));
	assert_non_null(strstr(printed + strlen(printed) + 1,
	                       "[\"mount\",\"pid\",\"ipc\",\"uts\",\"cgroup\"]"));
	decide_policy(
		d,
		"profile \"default\" { devices = {\"/dev/kvm\"} }\n"
		"grant \"g\" { users = {\"*\"} profiles = {\"*\"} network = host devices = {\"/dev/kvm\"} }");
	d->request.body.create.network = NETWORK_HOST;
	assert_int_equal(decide_plan(d), 0);
	assert_non_null(
		strstr(d->plan.weaker,
	               "by devices of the host: /dev/kvm; by the network of the host: it reaches"));
}

WITH_DECIDE(devices_of_the_host_are_said_to_weaken)
{
	decide_policy(
		d,
		"profile \"default\" { devices = {\"/dev/kvm\", \"/dev/dri/card0\"} }\n"
		"grant \"g\" { users = {\"*\"} profiles = {\"*\"} devices = {\"/dev/dri/card0\", \"/dev/kvm\"} }");
	assert_int_equal(decide_plan(d), 0);
	assert_string_equal(d->plan.weaker, "by devices of the host: /dev/kvm, /dev/dri/card0");
	decide_policy(d, PLAIN);
	assert_int_equal(decide_plan(d), 0);
	assert_string_equal(d->plan.weaker, "");
}

WITH_DECIDE(what_is_read_only_is_behind_an_overlay_where_the_profile_says_so)
{
	static const char *const said[] = {
		"/r, descriptor 0, read-only, behind an overlay of its own",
		"/w, descriptor 1, writable",
		"home /, system directories behind an overlay of its own"};

	for (int with = 0; with < 2; with++) {
		_cleanup_free_ char *printed = NULL;
		size_t length;

		decide_reset(d);
		decide_policy(
			d,
			with ? "profile \"default\" { overlay_ro = true private_home = false }\n" GRANT
			     : PLAIN);
		decide_share(d, 0, SHARE_RO, "/r");
		decide_share(d, 1, SHARE_RW, "/w");
		assert_int_equal(decide_plan(d), 0);
		assert_int_equal(d->plan.overlay_ro, with);
		printed = printed_plan(&d->plan, &length);
		for (size_t i = 0; with && i < ARRAY_SIZE(said); i++)
			if (!strstr(printed, said[i]))
				fail_msg("%s: not in\n%s", said[i], printed);
		assert_int_equal(strstr(printed, "overlay") != NULL, with);
	}
}

WITH_DECIDE(a_copy_on_write_share_has_a_store_or_memory_and_takes_what_reading_takes)
{
	static const char *const said[] = {"/w, descriptor 0, copy-on-write, from /usr /srv",
	                                   "/w, descriptor 1, the store of what is changed there",
	                                   "/m, descriptor 2, copy-on-write in memory, size 1M",
	                                   "/n, descriptor 3, copy-on-write in memory, size 64M"};
	_cleanup_free_ char *printed = NULL;
	size_t length, sources = 0, stores = 0;

	decide_policy(d, PLAIN);
	decide_share(d, 0, SHARE_COW, "/w");
	decide_share(d, 1, SHARE_STORE, "/w");
	decide_share(d, 2, SHARE_COW, "/m");
	decide_tmpfs(d, "/m", 1 << 20);
	decide_share(d, 3, SHARE_COW, "/n");
	decide_tmpfs(d, "/n", 0);
	assert_int_equal(decide_authorize(d), 0);
	assert_int_equal(decide_plan(d), 0);
	for (uint32_t i = 0; i < d->plan.steps_count; i++) {
		const struct plan_step *step = &d->plan.steps[i];

		sources += step->layer == PLAN_LAYER_SOURCE;
		stores += step->layer == PLAN_LAYER_STORE;
		assert_true(!step->layer || (step->kind == PLAN_SHARE && step->writable));
		assert_int_not_equal(step->kind, PLAN_TMPFS);
		if (step->layer == PLAN_LAYER_STORE)
			assert_string_equal(text(d, step->source), "*");
	}
	assert_int_equal(sources, 3);
	assert_int_equal(stores, 1);
	assert_true(plan_has_layers(&d->plan));
	printed = printed_plan(&d->plan, &length);
	for (size_t i = 0; i < ARRAY_SIZE(said); i++)
		if (!strstr(printed, said[i]))
			fail_msg("%s: not in\n%s", said[i], printed);
}

WITH_DECIDE(layers_that_do_not_fit_are_refused)
{
	static const struct {
		struct {
			uint32_t mode;
			const char *target;
		} shares[3];
		const char *tmpfs[2], *message;
	} cases[] = {
		{{{SHARE_COW, "/w"}}, {NULL}, "'/w' has not one place"},
		{{{SHARE_COW, "/w"}, {SHARE_STORE, "/w"}}, {"/w"}, "'/w' has not one place"},
		{{{SHARE_COW, "/w"}, {SHARE_STORE, "/w"}, {SHARE_STORE, "/w"}}, {NULL}, "'/w'"},
		{{{SHARE_COW, "/w"}, {SHARE_STORE, "/x"}}, {NULL}, "'/"},
		{{{SHARE_COW, "/w"}}, {"/w", "/w"}, "'/w' is the target of two mounts"},
		{{{SHARE_COW, "/w"}, {SHARE_COW, "/w"}},
	         {NULL},
	         "'/w' is the target of two mounts"},
		{{{SHARE_RW, "/w"}, {SHARE_STORE, "/w"}}, {NULL}, "'/w' is not the target of one"},
		{{{SHARE_STORE, "/w"}}, {NULL}, "'/w' is not the target of one"},
		{{{SHARE_STORE, ""}}, {NULL}, "'' is not the target of one"},
		{{{SHARE_COW, "/proc"}, {SHARE_STORE, "/proc"}}, {NULL}, "'/proc'"},
		{{{SHARE_COW, "/w"}, {SHARE_STORE, "/w"}, {SHARE_RO, "/w/a/b"}},
	         {NULL},
	         "'/w/a/b' cannot be kept"},
	};

	decide_policy(d, PLAIN);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		decide_reset(d);
		for (uint32_t j = 0; j < 3 && cases[i].shares[j].target; j++)
			decide_share(d, j, cases[i].shares[j].mode, cases[i].shares[j].target);
		for (uint32_t j = 0; j < 2 && cases[i].tmpfs[j]; j++)
			decide_tmpfs(d, cases[i].tmpfs[j], 1 << 20);
		refused(d, cases[i].message, "");
	}
}

WITH_DECIDE(a_profile_may_want_what_is_shared_to_be_copy_on_write)
{
	static const struct {
		uint32_t modes[3];
		uint32_t count;
		bool fits;
	} cases[] = {{{0}, 0, true},
	             {{SHARE_RO}, 1, false},
	             {{SHARE_RW}, 1, false},
	             {{SHARE_COW, SHARE_STORE}, 2, true},
	             {{SHARE_COW, SHARE_STORE, SHARE_RO}, 3, true},
	             {{SHARE_COW, SHARE_STORE, SHARE_RW}, 3, false}};

	decide_policy(d, "profile \"default\" { workspace = cow }\n" GRANT);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		decide_reset(d);
		for (uint32_t j = 0; j < cases[i].count; j++)
			decide_share(d, j, cases[i].modes[j], j < 2 ? "/w" : "/x");
		assert_int_equal(decide_plan(d), cases[i].fits ? 0 : YETT_E_INVALID_REQUEST);
		if (!cases[i].fits)
			assert_int_equal(d->error.reason, YETT_R_WANTED_COW);
	}
	decide_reset(d);
	decide_share(
		d, 0, SHARE_RW,
		PLAN_MEMORY); /* a place like any other, unless the profile keeps something there */
	assert_int_equal(decide_plan(d), YETT_E_INVALID_REQUEST);
	decide_policy(d, "profile \"default\" { workspace = cow memory_mount = true }\n" GRANT);
	decide_reset(d);
	decide_share(d, 0, SHARE_RW, PLAN_MEMORY);
	assert_int_equal(decide_plan(d), 0);
}

#define AGENT \
	"profile \"default\" { shares = false memory_mount = true outputs_mount = true tmp_size = 64M }\n"

WITH_DECIDE(the_conventional_mounts_are_those_of_the_profile)
{
	decide_policy(d, AGENT GRANT);
	assert_int_equal(decide_plan(d), YETT_E_INVALID_REQUEST);
	assert_int_equal(d->error.reason, YETT_R_WANTED_MOUNT);
	assert_non_null(strstr(d->error.message, "wants a directory of the user's at /mnt/memory"));
	decide_reset(d);
	decide_share(d, 0, SHARE_RW, PLAN_MEMORY);
	assert_int_equal(decide_plan(d), 0);
	assert_true(find(d, PLAN_MEMORY)->writable);
	assert_string_equal(text(d, find(d, PLAN_MEMORY)->source),
	                    "/srv"); /* where the grant lets it lie, like any share */
	assert_int_equal(find(d, PLAN_OUTPUTS)->kind, PLAN_TMPFS);
	assert_int_equal(find(d, PLAN_OUTPUTS)->size_bytes, 64 << 20);
	decide_tmpfs(d, PLAN_OUTPUTS, 1 << 20);
	assert_int_equal(decide_plan(d), 0);
	assert_int_equal(find(d, PLAN_OUTPUTS)->size_bytes, 1 << 20);
}

WITH_DECIDE(the_conventional_mounts_open_no_others)
{
	decide_policy(d, AGENT GRANT);
	decide_share(d, 0, SHARE_RW, PLAN_MEMORY);
	decide_share(d, 1, SHARE_RO, "/mnt/memory2");
	assert_int_equal(decide_authorize(d), YETT_E_PERMISSION_DENIED);
	decide_reset(d);
	decide_share(d, 0, SHARE_RW, PLAN_MEMORY);
	decide_tmpfs(d, PLAN_MEMORY, 0);
	assert_int_equal(decide_authorize(d), YETT_E_PERMISSION_DENIED);
	decide_policy(d, "profile \"default\" { shares = false outputs_mount = true }\n" GRANT);
	decide_reset(d);
	decide_share(d, 0, SHARE_RW, PLAN_MEMORY);
	assert_int_equal(decide_authorize(d), YETT_E_PERMISSION_DENIED);
}

static void cover(struct decide *d, const char *mask, const char *read_only)
{
	struct message_create *create = &d->request.body.create;

	if (mask)
		assert_int_equal(
			message_add_text(&d->request, mask, &create->masks[create->masks_count++]),
			0);
	if (read_only)
		assert_int_equal(message_add_text(&d->request, read_only,
		                                  &create->read_only[create->read_only_count++]),
		                 0);
}

/* The steps that cover a path outside /proc: "KIND TARGET " for each. */
static const char *covers(const struct decide *d)
{
	static char all[1024];
	size_t used = 0;

	all[0] = '\0';
	for (uint32_t i = 0; i < d->plan.steps_count; i++) {
		const struct plan_step *step = &d->plan.steps[i];

		if (!build_is_cover(step) || build_covers_proc(&d->plan, step))
			continue;
		assert_true(step->optional);
		used += (size_t)snprintf(all + used, sizeof all - used, "%s %s ",
		                         plan_name_step(step->kind), text(d, step->target));
	}
	return all;
}

WITH_DECIDE(a_covered_path_is_inside_a_share)
{
	static const struct {
		const char *path, *message;
	} cases[] = {{"/srv/w/x", NULL},
	             {"/srv/w/a/b", NULL},
	             {"/srv/w", "is not inside a share"},
	             {"/srv", "is not inside a share"},
	             {"/etc/x", "not inside a share"},
	             {"/srv/wx", "not inside a share"},
	             {"/srv/w/t/x", NULL},
	             {"", "is not an absolute path"},
	             {"w", "not an absolute"},
	             {"/srv/w/../x", ". or .."},
	             {"/srv/w//x", "empty comp"},
	             {"/srv/w/s/x", NULL},
	             {"/srv/w/x/", "empty comp"}};

	decide_policy(d, PLAIN);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int is_mask = 0; is_mask < 2; is_mask++) {
			int r;

			decide_reset(d);
			decide_share(d, 0, SHARE_RO, "/srv/w");
			decide_tmpfs(d, "/srv/w/t", 0);
			decide_tmpfs(d, "/srv/w/s", 0);
			cover(d, is_mask ? cases[i].path : NULL, is_mask ? NULL : cases[i].path);
			r = decide_plan(d);
			assert_int_equal(r, cases[i].message ? YETT_E_INVALID_REQUEST : 0);
			if (cases[i].message && !strstr(d->error.message, cases[i].message))
				fail_msg("%s: %s", cases[i].path, d->error.message);
			assert_string_equal(d->error.detail,
			                    cases[i].message ? is_mask ? "masks" : "read_only"
			                                     : "");
		}
}

WITH_DECIDE(directories_above_a_covered_path_are_pinned_in_writable_shares)
{
	static const struct {
		enum share_mode mode;
		const char *wanted;
	} cases[] = {
		{SHARE_RO,
	         "read-only /srv/w/a read-only /srv/w/.git/config mask /srv/w/.git/x/y mask /srv/w/in/a/b "},
		{SHARE_RW,
	         "pin /srv/w/.git read-only /srv/w/a pin /srv/w/.git/x pin /srv/w/in/a "
	         "read-only /srv/w/.git/config mask /srv/w/.git/x/y mask /srv/w/in/a/b "}};

	decide_policy(d, PLAIN);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int is_later = 0; is_later < 2; is_later++) {
			const char *const top = is_later ? "/mnt" : "/srv";
			struct message_create *create = &d->request.body.create;
			char path[64], wanted[512] = "", *at;

			decide_reset(d);
			for (size_t j = 0; j < 2; j++) {
				(void)snprintf(path, sizeof path, "%s/w%s", top, j ? "/in" : "");
				decide_share(d, (uint32_t)j, cases[i].mode, path);
			}
			for (size_t j = 0; j < 4; j++) {
				static const char *const names[] = {".git/x/y", "in/a/b",
				                                    ".git/config", "a"};

				(void)snprintf(path, sizeof path, "%s/w/%s", top, names[j]);
				cover(d, j < 2 ? path : NULL, j < 2 ? NULL : path);
			}
			if (is_later) {
				_cleanup_free_ struct message_mount *mount =
					calloc(1, sizeof *mount);

				assert_non_null(mount);
				assert_int_equal(decide_authorize(d), 0);
				memcpy(mount->masks, create->masks, sizeof mount->masks);
				memcpy(mount->read_only, create->read_only,
				       sizeof mount->read_only);
				mount->masks_count = mount->read_only_count = 2;
				assert_int_equal(planning_mount(d->policy, &d->decision, DECIDE_ID,
				                                mount, &d->plan, &d->error),
				                 0);
			} else {
				assert_int_equal(decide_plan(d), 0);
			}
			(void)snprintf(wanted, sizeof wanted, "%s", cases[i].wanted);
			for (at = wanted; is_later && (at = strstr(at, "/srv")); at++)
				memcpy(at, "/mnt", 4);
			assert_string_equal(covers(d), wanted);
		}
}

/* A share inside a read-only directory stays as it is, a pin becomes what is asked for at its path,
 * and no pin is needed twice. */
WITH_DECIDE(covers_and_shares_of_one_request_go_together)
{
	decide_policy(d, PLAIN);
	decide_share(d, 0, SHARE_RW, "/srv/w");
	decide_share(d, 1, SHARE_RW, "/srv/w/ro/in/app");
	cover(d, "/srv/w/.git/x", "/srv/w/ro");
	cover(d, "/srv/w/p/q", "/srv/w/.git/hooks/y");
	cover(d, "/srv/w/.git/hooks", "/srv/w/p");
	assert_int_equal(decide_plan(d), 0);
	assert_string_equal(
		covers(d),
		"pin /srv/w/.git read-only /srv/w/p read-only /srv/w/ro pin /srv/w/ro/in mask /srv/w/.git/hooks "
		"mask /srv/w/.git/x mask /srv/w/p/q read-only /srv/w/.git/hooks/y ");
	assert_true(find(d, "/srv/w/ro") < find(d, "/srv/w/ro/in/app"));
	assert_false(find(d, "/srv/w/.git/hooks")->writable);
	/* a share at the path shows what the request wants there */
	decide_reset(d);
	decide_share(d, 0, SHARE_RW, "/srv/w");
	decide_share(d, 1, SHARE_RW, "/srv/w/p");
	cover(d, NULL, "/srv/w/p");
	assert_int_equal(decide_plan(d), 0);
	assert_string_equal(covers(d), "");
}

WITH_DECIDE(a_target_that_is_none_is_refused)
{
	static const struct {
		const char *target, *message;
	} cases[] = {
		{"", "is not an absolute path"},
		{"work", "is not an absolute path"},
		{"/", "the root itself"},
		{"//", "empty component"},
		{"/a//b", "empty component"},
		{"/a/", "empty component"},
		{"/../x", "component . or .."},
		{"/a/./b", "component . or .."},
		{"/a/..", "component . or .."},
		{"/proc", "nothing is mounted"},
		{"/proc/self", "nothing is mounted"},
		{"/sys/fs", "nothing is mounted"},
		{"/dev/shm", "nothing is mounted"},
		{"/dev", "nothing is mounted"},
		{"/etc/passwd", "nothing is mounted"},
		{"/etc/group", "nothing is mounted"},
		{"/run/yett/x", "nothing is mounted"},
		{"/etc", "would hide"},
		{"/run", "would hide"},
		{"/usr", "would hide a system directory"},
		{"/opt", NULL}, /* no programs of the host are there, which every sandbox needs */
		{"/opt/tools", NULL},
		{"/opt/tools/bin", NULL},
		{"/a\nb", "control character"},
		{"/tmp", NULL},
		{"/tmp/x", NULL},
		{"/usr/src", NULL},
		{"/opt/other", NULL},
		{"/procs", NULL},
		{"/home/alice", NULL},
		{"/etc/myconf", NULL},
		{"/run/user", NULL},
		{"/...", NULL},
	};

	decide_policy(d, PLAIN);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int as_tmpfs = 0; as_tmpfs < 2; as_tmpfs++) {
			decide_reset(d);
			if (as_tmpfs)
				decide_tmpfs(d, cases[i].target, 0);
			else
				decide_share(d, 0, SHARE_RO, cases[i].target);
			if (cases[i].message)
				refused(d, cases[i].message, as_tmpfs ? "tmpfs 1" : "share 1");
			else
				assert_int_equal(decide_plan(d), 0);
		}
}

/* The plan for a sandbox that is there, of what was put into the request, and with `unmount` taken
 * off and `refresh` looked at anew. */
static int plan_change(struct decide *d, const char *unmount, const char *refresh)
{
	_cleanup_free_ struct message_mount *mount = calloc(1, sizeof *mount);

	assert_non_null(mount);
	assert_int_equal(decide_authorize(d), 0);
	if (unmount)
		assert_int_equal(message_add_text(&d->request, unmount,
		                                  &mount->unmount[mount->unmount_count++]),
		                 0);
	if (refresh)
		assert_int_equal(message_add_text(&d->request, refresh,
		                                  &mount->refresh[mount->refresh_count++]),
		                 0);
	return planning_mount(d->policy, &d->decision, DECIDE_ID, mount, &d->plan, &d->error);
}

static int plan_mount(struct decide *d, const char *unmount)
{
	return plan_change(d, unmount, NULL);
}

WITH_DECIDE(what_is_looked_at_anew_may_be_anywhere)
{
	static const struct {
		const char *target, *message;
	} cases[] = {{"/", NULL},
	             {"/srv/x", NULL},
	             {"/etc", NULL},
	             {"/mnt/../etc", "component . or .."},
	             {"//", "empty component"},
	             {"mnt", "not an absolute path"},
	             {"", "not an absolute path"}};

	decide_policy(d, PLAIN);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r;

		decide_reset(d);
		r = plan_change(d, NULL, cases[i].target);
		assert_int_equal(r, cases[i].message ? YETT_E_INVALID_REQUEST : 0);
		if (cases[i].message && !strstr(d->error.message, cases[i].message))
			fail_msg("%s: %s", cases[i].target, d->error.message);
		if (!cases[i].message)
			assert_int_equal(d->plan.steps[d->plan.steps_count - 1].kind, PLAN_REFRESH);
	}
}

WITH_DECIDE(what_is_mounted_later_is_in_places_that_commands_reach_then)
{
	static const struct {
		const char *target, *message;
	} cases[] = {
		{"/mnt/x", NULL},
		{"/tmp/a/b", NULL},
		{"/var/tmp/x", NULL},
		{"/run/user/1000/x", NULL},
		{"/home/alice/project", NULL},
		{"/mnt", "no place"},
		{"/tmp", "no place"},
		{"/srv/x", "no place"},
		{"/home/alice", "no place"},
		{"/mntx/y", "no place"},
		{"/usr/src", "no place"},
		{"/home/bob/x", "no place"},
		{"/run/yett/x", "nothing is mounted"},
		{"/proc/x", "nothing is mounted"},
		{"/mnt/../etc", "component . or .."},
	};

	decide_policy(d, PLAIN);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int is_unmount = 0; is_unmount < 2; is_unmount++) {
			int r;

			decide_reset(d);
			if (!is_unmount)
				decide_share(d, 0, SHARE_RO, cases[i].target);
			r = plan_mount(d, is_unmount ? cases[i].target : NULL);
			assert_int_equal(r, cases[i].message ? YETT_E_INVALID_REQUEST : 0);
			if (cases[i].message && !strstr(d->error.message, cases[i].message))
				fail_msg("%s: %s", cases[i].target, d->error.message);
		}
}

WITH_DECIDE(a_plan_for_one_that_is_there_has_what_changes_and_what_is_protected_in_it)
{
	static const uint32_t kinds[] = {PLAN_SLOT,  PLAN_CGROUP,    PLAN_UNMOUNT, PLAN_SHARE,
	                                 PLAN_SHARE, PLAN_READ_ONLY, PLAN_MASK};

	decide_policy(
		d,
		"profile \"default\" { mask = {\"/mnt/a/b/.env\", \"/mnt/other/.env\"} read_only = {\"/mnt/a/fixed\", \"/etc/x\"}\n"
		" share_ro = {\"/usr/share:/mnt/host\"} tmpfs = {\"/mnt/scratch\"} }\n" GRANT);
	decide_share(d, 0, SHARE_RW, "/mnt/a/b");
	decide_share(d, 1, SHARE_RW, "/mnt/a");
	assert_int_equal(plan_mount(d, "/mnt/old"), 0);
	assert_int_equal(d->plan.steps_count, ARRAY_SIZE(kinds));
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		assert_int_equal(d->plan.steps[i].kind, kinds[i]);
	assert_string_equal(plan_text(&d->plan, d->plan.steps[3].target),
	                    "/mnt/a"); /* parents first */
	assert_string_equal(plan_text(&d->plan, d->plan.steps[5].target), "/mnt/a/fixed");
	assert_string_equal(plan_text(&d->plan, d->plan.steps[6].target), "/mnt/a/b/.env");
	assert_int_equal(d->plan.network, PLAN_NETWORK_NONE);
	assert_string_equal(d->plan.id, DECIDE_ID);
}

WITH_DECIDE(what_protects_is_not_taken_off)
{
	static const struct {
		const char *target, *message;
	} cases[] = {{"/mnt/a/.env", "is protected by the profile"},
	             {"/mnt/a/fixed", "is protected by the profile"},
	             {"/mnt/host", "is the profile's"},
	             {"/mnt/scratch", "is the profile's"}};

	decide_policy(
		d, "profile \"default\" { mask = {\"/mnt/a/.env\"} read_only = {\"/mnt/a/fixed\"}\n"
		   " share_ro = {\"/usr/share:/mnt/host\"} tmpfs = {\"/mnt/scratch\"} }\n" GRANT);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		decide_reset(d);
		assert_int_equal(plan_mount(d, cases[i].target), YETT_E_INVALID_REQUEST);
		if (!strstr(d->error.message, cases[i].message))
			fail_msg("%s: %s", cases[i].target, d->error.message);
	}
	decide_reset(d);
	assert_int_equal(plan_mount(d, "/mnt/a"), 0);
}

WITH_DECIDE(what_is_protected_below_a_writable_share_is_pinned_later_as_well)
{
	decide_policy(d, "profile \"default\" { mask = {\"/mnt/a/b/.env\"} }\n" GRANT);
	decide_share(d, 0, SHARE_RW, "/mnt/a");
	assert_int_equal(plan_mount(d, NULL), YETT_E_INVALID_REQUEST);
	assert_non_null(strstr(d->error.message, "cannot be kept from a program"));
}

WITH_DECIDE(a_long_target_is_refused)
{
	char target[5000];

	decide_policy(d, PLAIN);
	memset(target, 'x', sizeof target);
	target[0] = '/';
	target[300] = '\0';
	decide_share(d, 0, SHARE_RO, target);
	refused(d, "component that is too long", "share 1");
	assert_non_null(strstr(d->error.message, "xxx...'"));
	for (size_t i = 0; i < sizeof target; i += 100)
		target[i] = '/';
	target[4500] = '\0';
	decide_reset(d);
	decide_share(d, 0, SHARE_RO, target);
	refused(d, "is too long", "share 1");
}

WITH_DECIDE(two_mounts_on_one_target_are_refused)
{
	decide_policy(d, "profile \"default\" { share_ro = {\"/usr/share:/data\"} }\n" GRANT);
	decide_share(d, 0, SHARE_RO, "/work");
	decide_tmpfs(d, "/work", 0);
	refused(d, "'/work' is the target of two mounts", "tmpfs 1");
	decide_reset(d);
	decide_share(d, 0, SHARE_RO, "/data");
	refused(d, "'/data' is the target of two mounts", "share 1");
}

WITH_DECIDE(every_descriptor_is_one_share)
{
	decide_policy(d, PLAIN);
	decide_share(d, 0, SHARE_RO, "/a");
	decide_share(d, 0, SHARE_RO, "/b");
	refused(d, "'/b' names a descriptor", "share 2");
	decide_reset(d);
	decide_share(d, 1, SHARE_RO, "/a");
	refused(d, "'/a' names a descriptor", "share 1");
	decide_reset(d);
	decide_share(d, 0, SHARE_STORE + 1, "/a"); /* a mode that there is not */
	refused(d, "'/a' names a descriptor", "share 1");
	decide_reset(d);
	decide_share(d, 0, SHARE_RO, "/a");
	d->verified.fd_count = 2;
	refused(d, "one share for each descriptor", "shares");
	decide_reset(d);
	d->verified.fd_count = 1;
	refused(d, "one share for each descriptor", "shares");
}

/* None is left out silently: what of them would count is not for chance to say. */
WITH_DECIDE(more_directories_of_a_grant_than_a_plan_can_name_are_refused)
{
	char path[8192];
	char *items[] = {path, (char[]){"/srv"}};
	struct policy_grant grant;

	decide_policy(d, PLAIN);
	decide_share(d, 0, SHARE_RO, "/a");
	assert_int_equal(decide_authorize(d), 0);
	grant = *d->decision.grant;
	grant.share_ro = (struct policy_list){.items = items, .count = 2};
	grant.share_rw = (struct policy_list){0};
	d->decision.grant = &grant;
	memset(path, 'p', sizeof path);
	for (size_t length = 8180; length < 8192; length++) {
		int r;

		path[length] = '\0';
		r = planning_make(d->policy, &d->decision, DECIDE_ID, &d->plan, &d->error);
		if (r == 0) { /* then both are there */
			assert_int_equal(strlen(text(d, find(d, "/a")->source)), length + 1 + 4);
		} else {
			assert_int_equal(r, YETT_E_INVALID_REQUEST);
			assert_non_null(strstr(d->error.message, "names too many directories"));
		}
		assert_int_equal(r == 0, length <= 8192 - 4 - 2);
		path[length] = 'p';
	}
}

WITH_DECIDE(what_must_stay_unwritten_is_refused_below_a_directory_that_can_be_renamed)
{
	decide_policy(
		d,
		"profile \"default\" { mask = {\"/work/a/secret\"} read_only = {\"/work/.git\"} }\n" GRANT);
	decide_share(d, 0, SHARE_RW, "/work");
	refused(d, "'/work/a/secret' cannot be kept from a program", "mask of the profile");
	/* Pinned by a mount of its own, or not writable at all: fine. */
	decide_share(d, 1, SHARE_RW, "/work/a");
	assert_int_equal(decide_plan(d), 0);
	decide_reset(d);
	decide_share(d, 0, SHARE_RO, "/work");
	assert_int_equal(decide_plan(d), 0);
	decide_reset(d);
	decide_share(d, 0, SHARE_RW, "/work/a");
	assert_int_equal(decide_plan(d), 0);
	/* What the request shares has its pins. */
	decide_reset(d);
	decide_share(d, 0, SHARE_RW, "/src");
	decide_share(d, 1, SHARE_RO, "/src/vendor/lib");
	assert_int_equal(decide_plan(d), 0);
	assert_string_equal(covers(d), "pin /src/vendor read-only /work/.git mask /work/a/secret ");
	assert_true(find(d, "/src/vendor")->writable &&
	            find(d, "/src/vendor") < find(d, "/src/vendor/lib"));
	decide_reset(d);
	decide_share(d, 0, SHARE_RW, "/src");
	decide_share(d, 1, SHARE_RO, "/src/vendor");
	decide_share(d, 2, SHARE_RO, "/src/vendor/x/y");
	assert_int_equal(decide_plan(d), 0);
	decide_reset(d);
	decide_tmpfs(d, "/t", 0);
	decide_share(d, 0, SHARE_RO, "/t/a/b");
	refused(d, "'/t/a/b' cannot be kept", "read-only share");
}

WITH_DECIDE(proc_is_masked_before_what_the_profile_masks)
{
	decide_policy(
		d, "profile \"default\" { mask = {\"/srv/x\"} read_only = {\"/opt/y\"} }\n" GRANT);
	assert_int_equal(decide_plan(d), 0);
	assert_int_equal(find(d, "/proc/kcore")->kind, PLAN_MASK);
	assert_int_equal(find(d, "/proc/sysrq-trigger")->kind, PLAN_MASK);
	assert_int_equal(find(d, "/proc/sys")->kind, PLAN_READ_ONLY);
	assert_true(find(d, "/proc/sys")->optional);
	assert_true(find(d, "/srv/x") > find(d, "/proc/timer_list"));
	assert_int_equal(find(d, "/srv/x")->kind, PLAN_MASK);
	assert_true(find(d, "/opt/y") > find(d, "/proc/sys"));
	assert_true(find(d, "/opt/y") < find(d, "/proc/acpi"));
}

static bool has_env(const struct decide *d, const char *entry)
{
	for (uint32_t i = 0; i < d->plan.env_count; i++)
		if (strcmp(text(d, d->plan.env[i]), entry) == 0)
			return true;
	return false;
}

WITH_DECIDE(names_and_environment_are_the_callers)
{
	decide_policy(
		d,
		"profile \"default\" { environment = {\"PATH=/bin\", \"USER=me\"} umask = 077 nice = 3 }\n" GRANT);
	assert_int_equal(decide_plan(d), 0);
	assert_string_equal(text(d, d->plan.user_name), "alice");
	assert_string_equal(text(d, d->plan.group_name), "staff");
	assert_string_equal(text(d, d->plan.home), "/home/alice");
	assert_string_equal(text(d, d->plan.shell), "/bin/bash");
	assert_int_equal(d->plan.env_count, 5);
	assert_true(has_env(d, "HOME=/home/alice") && has_env(d, "LOGNAME=alice") &&
	            has_env(d, "SHELL=/bin/bash"));
	assert_true(has_env(d, "USER=me") && has_env(d, "PATH=/bin"));
	assert_int_equal(d->plan.umask, 077);
	assert_int_equal(d->plan.nice, 3);
	assert_int_equal(d->plan.sandboxes_max, 3);
	assert_int_equal(d->plan.user_limits.pids, 9);
	assert_int_equal(d->plan.groups_count, 2);
	assert_int_equal(d->plan.groups[1], 100);
	assert_int_equal(d->plan.policy_generation, d->policy->generation);
}

WITH_DECIDE(names_that_would_break_passwd_are_replaced)
{
	decide_policy(d, PLAIN);
	strcpy(d->peer.names.user, "x:0:0::/:/bin/sh\nroot");
	d->peer.names.group[0] = d->peer.names.shell[0] = '\0';
	strcpy(d->peer.names.home, "/home/a:b");
	assert_int_equal(decide_plan(d), 0);
	assert_string_equal(text(d, d->plan.user_name), "user");
	assert_string_equal(text(d, d->plan.group_name), "user");
	assert_string_equal(text(d, d->plan.home), "/");
	assert_string_equal(text(d, d->plan.shell), "/bin/sh");
}

WITH_DECIDE(a_home_is_made_only_where_it_can_be_private)
{
	static const struct {
		const char *home, *expected;
	} cases[] = {
		{"/root", "/root"}, {"/var/lib/svc", "/var/lib/svc"},
		{"/usr/sbin", "/"}, {"/proc/1", "/"},
		{"/", "/"},         {"", "/"},
		{"relative", "/"},  {"/a/../b", "/"},
		{"/etc/skel", "/"}, {"/dev", "/"},
	};

	decide_policy(d, PLAIN);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		strcpy(d->peer.names.home, cases[i].home);
		assert_int_equal(decide_plan(d), 0);
		assert_string_equal(text(d, d->plan.home), cases[i].expected);
	}
	strcpy(d->peer.names.home, "/home/alice");
	decide_policy(d, "profile \"default\" { private_home = false }\n" GRANT);
	assert_int_equal(decide_plan(d), 0);
	assert_string_equal(text(d, d->plan.home), "/");
	decide_policy(
		d,
		"profile \"default\" { identity = root }\ngrant \"g\" { users = {\"*\"} profiles = {\"*\"} identity_root = true }\n");
	assert_int_equal(decide_plan(d), 0);
	assert_string_equal(text(d, d->plan.home), "/root");
	assert_string_equal(text(d, d->plan.user_name), "root");
	assert_int_equal(d->plan.identity, PLAN_IDENTITY_ROOT);
}

WITH_DECIDE(a_host_name_of_the_request_is_checked)
{
	char name[66];

	decide_policy(d, PLAIN);
	assert_int_equal(decide_plan(d), 0);
	d->request.body.create.hostname = decide_text(d, "box-1.local");
	assert_int_equal(decide_plan(d), 0);
	d->request.body.create.hostname = decide_text(d, "a b");
	refused(d, "'a b' is not a host name", "hostname");
	d->request.body.create.hostname = decide_text(d, "-x");
	refused(d, "begins with", "hostname");
	memset(name, 'n', 64); /* uname(2) has room for no more */
	name[64] = '\0';
	d->request.body.create.hostname = decide_text(d, name);
	assert_int_equal(decide_plan(d), 0);
	memset(name, 'n', 65);
	name[65] = '\0';
	d->request.body.create.hostname = decide_text(d, name);
	refused(d, "is not a host name", "hostname");
}

WITH_DECIDE(ids_and_groups_out_of_range_are_unsupported)
{
	decide_policy(d, PLAIN);
	d->peer.groups_count = PLAN_GROUPS_MAX;
	assert_int_equal(decide_plan(d), 0);
	d->peer.groups_count = PLAN_GROUPS_MAX + 1;
	assert_int_equal(decide_authorize(d), 0);
	assert_int_equal(planning_make(d->policy, &d->decision, DECIDE_ID, &d->plan, &d->error),
	                 YETT_E_UNSUPPORTED);
	d->peer.groups_count = 2;
	d->peer.groups[1] = (gid_t)-1;
	assert_int_equal(decide_plan(d), YETT_E_UNSUPPORTED);
	d->peer.groups_count = 0;
	d->peer.gid = (gid_t)-1;
	assert_int_equal(decide_plan(d), YETT_E_UNSUPPORTED);
	decide_reset(d);
	d->peer.uid = (uid_t)-1;
	assert_int_equal(decide_plan(d), YETT_E_UNSUPPORTED);
}

WITH_DECIDE(the_largest_request_fits_or_is_refused)
{
	char target[600];

	decide_policy(d, PLAIN);
	for (uint32_t i = 0; i < MESSAGE_SHARES_MAX; i++) {
		(void)snprintf(target, sizeof target, "/s/%u", i);
		decide_share(d, i, SHARE_RO, target);
	}
	for (uint32_t i = 0; i < MESSAGE_TMPFS_MAX; i++) {
		(void)snprintf(target, sizeof target, "/t/%u", i);
		decide_tmpfs(d, target, 0);
	}
	assert_int_equal(decide_plan(d), 0);
	decide_reset(d);
	for (uint32_t i = 0; i < MESSAGE_SHARES_MAX; i++) {
		(void)snprintf(target, sizeof target, "/%u/%0250u/%0250u/%050u", i, 1, 1, 1);
		decide_share(d, i, SHARE_RO, target);
	}
	assert_int_equal(decide_plan(d), YETT_E_INVALID_REQUEST);
	assert_int_equal(d->error.reason, YETT_R_TOO_LONG);
}

WITH_DECIDE(a_name_that_could_be_an_id_and_a_label_said_twice_are_refused)
{
	struct message_create *create = &d->request.body.create;

	decide_policy(d, PLAIN);
	create->name = decide_text(d, "00112233445566f");
	create->labels_count = 2;
	create->labels[0] = decide_text(d, "app=web");
	create->labels[1] = decide_text(d, "ap=web");
	assert_int_equal(decide_plan(d), 0);
	assert_string_equal(plan_text(&d->plan, d->plan.name), "00112233445566f");
	create->name = decide_text(d, "00112233445566ff-box"); /* one begins like an id */
	assert_int_equal(decide_plan(d), 0);
	assert_string_equal(plan_text(&d->plan, d->plan.principal), "laptop");
	assert_int_equal(d->plan.labels_count, 2);
	assert_string_equal(plan_text(&d->plan, d->plan.labels[1]), "ap=web");
	create->labels[1] = decide_text(d, "app=");
	refused(d, "'app=' has the key of another label", "labels");
	create->labels[1] = decide_text(d, (const char[]){PLAN_ANNOTATION, '=', 'x', '\0'});
	refused(d, "has no key", "labels");
	create->labels[1] = decide_text(d, (const char[]){PLAN_ANNOTATION, 'a', '=', '\0'});
	assert_int_equal(decide_plan(d), 0);
	create->labels_count = 1;
	create->name = decide_text(d, "00112233445566ff");
	refused(d, "could be the id of another sandbox", "name");
}

WITH_DECIDE(labels_that_no_record_can_hold_are_refused)
{
	struct message_create *create = &d->request.body.create;
	char label[MESSAGE_KEY_VALUE_MAX + 1];
	const size_t count = PLAN_LABELS_SIZE / (MESSAGE_KEY_VALUE_MAX + 1);

	decide_policy(d, PLAIN);
	memset(label, 'v', sizeof label - 1);
	label[sizeof label - 1] = '\0';
	for (create->labels_count = 0; create->labels_count < count; create->labels_count++) {
		label[0] = MESSAGE_ANNOTATION;
		label[1] = (char)('a' + create->labels_count);
		label[2] = '=';
		create->labels[create->labels_count] = decide_text(d, label);
	}
	assert_int_equal(decide_plan(d), 0);
	assert_int_equal(d->plan.labels_count, count);
	/* What is left, to the last byte; and one more. */
	label[1] = 'A';
	label[PLAN_LABELS_SIZE - count * (MESSAGE_KEY_VALUE_MAX + 1)] = '\0';
	create->labels[create->labels_count++] = decide_text(d, label);
	refused(d, "'labels and annotations' have more than 2,560 bytes together", "labels");
	label[strlen(label) - 1] = '\0';
	create->labels[count] = decide_text(d, label);
	assert_int_equal(decide_plan(d), 0);
}

WITH_DECIDE(the_same_decision_gives_the_same_plan)
{
	_cleanup_free_ struct plan *first = malloc(sizeof *first);

	decide_policy(d, PLAIN);
	decide_share(d, 1, SHARE_RO, "/b");
	decide_share(d, 0, SHARE_RW, "/a");
	assert_int_equal(decide_plan(d), 0);
	memcpy(first, &d->plan, sizeof *first);
	memset(&d->plan, 0xaa, sizeof d->plan);
	assert_int_equal(decide_plan(d), 0);
	assert_memory_equal(first, &d->plan, offsetof(struct plan, arena) + d->plan.arena_used);
}

#define GIVES \
	"grant \"g\" { users = {\"*\"} profiles = {\"*\"} capabilities = {\"chown\", \"kill\"} identity_root = true }\n"

/* What nothing else stands for: a plan without it would carry out less than the policy says, or
 * more. */
WITH_DECIDE(a_plan_has_what_the_profile_gives_and_requires)
{
	decide_policy(
		d,
		"profile \"default\" { capabilities = {\"kill\", \"chown\"} identity = root umask = 027 nice = 5 label = required "
		"apparmor_profile = \"boxed\" selinux_type = \"boxed_t\" }\n" GIVES);
	d->request.body.create.plan_only = true;
	assert_int_equal(decide_plan(d), 0);
	assert_int_equal(d->plan.capabilities, 1u << 0 | 1u << 5);
	assert_int_equal(d->plan.identity, PLAN_IDENTITY_ROOT);
	assert_int_equal(d->plan.umask, 027);
	assert_int_equal(d->plan.nice, 5);
	assert_true(d->plan.label_required);
	assert_true(d->plan.is_dry);
	assert_string_equal(text(d, d->plan.label), "boxed");
	assert_string_equal(text(d, d->plan.selinux_type), "boxed_t");
	decide_reset(d);
	decide_policy(
		d,
		"profile \"default\" { capabilities = {\"chown\"} label = if_available apparmor_profile = \"boxed\" }\n" GIVES);
	assert_int_equal(decide_plan(d), 0);
	assert_int_equal(d->plan.capabilities, 1u << 0);
	assert_int_equal(d->plan.identity, PLAN_IDENTITY_PRIVATE);
	assert_false(d->plan.label_required);
	assert_false(d->plan.is_dry);
	decide_policy(d, PLAIN);
	assert_int_equal(decide_plan(d), 0);
	assert_int_equal(d->plan.capabilities, 0);
	assert_int_equal(d->plan.caller_uid, 1000);
	assert_int_equal(d->plan.groups_count, 2);
	assert_int_equal(d->plan.sandboxes_max, 3);
	assert_int_equal(d->plan.user_limits.pids, 9);
}

/* The plan of this policy, with what a test has set besides. */
static void plan_of(struct decide *d, const char *policy, struct plan *plan)
{
	decide_policy(d, policy);
	assert_int_equal(decide_plan(d), 0);
	*plan = d->plan;
}

static struct plan plain, other;

WITH_DECIDE(what_a_request_adds_leaves_the_base_as_it_is)
{
	plan_of(d, PLAIN, &plain);
	decide_share(d, 0, SHARE_RW, "/work");
	decide_tmpfs(d, "/scratch", 1u << 20);
	d->request.body.create.limits.pids = 5;
	d->request.body.create.name = decide_text(d, "box");
	d->request.body.create.hostname = decide_text(d, "box");
	plan_of(d, PLAIN, &other);
	assert_true(plan_same_base(&plain, &other));
}

/* What lies in a share is there only when the share is. */
WITH_DECIDE(covers_of_proc_alone_are_in_the_base)
{
	decide_policy(
		d,
		"profile \"default\" { mask = {\"/proc/net\", \"/data/secret\", \"/process/x\"} read_only = {\"/proc/tty\", \"/work\"} }\n" GRANT);
	assert_int_equal(decide_plan(d), 0);
	assert_true(build_covers_proc(&d->plan, find(d, "/proc/net")));
	assert_true(build_covers_proc(&d->plan, find(d, "/proc/tty")));
	assert_false(build_covers_proc(&d->plan, find(d, "/data/secret")));
	assert_false(build_covers_proc(&d->plan, find(d, "/process/x")));
	assert_false(build_covers_proc(&d->plan, find(d, "/work")));
}

static void set_home(struct decide *d)
{
	strcpy(d->peer.names.home, "/home/alicf");
}
static void set_shell(struct decide *d)
{
	strcpy(d->peer.names.shell, "/bin/sh");
}
static void set_user(struct decide *d)
{
	strcpy(d->peer.names.user, "alicf");
}
static void set_group_name(struct decide *d)
{
	strcpy(d->peer.names.group, "stafg");
}
static void set_uid(struct decide *d)
{
	d->peer.uid++;
}
static void set_gid(struct decide *d)
{
	d->peer.gid++;
}
static void set_group(struct decide *d)
{
	d->peer.groups[1]++;
}
static void set_groups(struct decide *d)
{
	d->peer.groups_count--;
}
WITH_DECIDE(whatever_a_ready_sandbox_was_built_by_is_in_the_base)
{
	static void (*const changes[])(struct decide * d) = {set_home,       set_shell, set_user,
	                                                     set_group_name, set_uid,   set_gid,
	                                                     set_group,      set_groups};
	static const char *const policies[] = {
		"profile \"default\" { system = {\"/usr\", \"/opt/tools/bin\"} memory = 1G tmp_size = 64M private_home = false }\n" GRANT,
		PLAIN "grant \"h\" { users = {\"*\"} profiles = {\"*\"} user_terminals = 6 }\n",
		"profile \"before\" { }\n" PLAIN, /* another number, by which all is known that the
	                                             profile decides */
	};

	plan_of(d, PLAIN, &plain);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		decide_reset(d);
		changes[i](d);
		plan_of(d, PLAIN, &other);
		assert_false(plan_same_base(&plain, &other));
	}
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		decide_reset(d);
		plan_of(d, policies[i], &other);
		assert_false(plan_same_base(&plain, &other));
	}
	decide_reset(d);
	plan_of(d, PLAIN, &other);
	assert_true(plan_same_base(&plain, &other));
	other.policy_generation++; /* another text, in which the number may stand for anything */
	assert_false(plan_same_base(&plain, &other));
}

/* Root names a key and a number. */
static void completed(struct decide *d, const char *key, uint32_t number, const char *asked,
                      const char *allowed)
{
	char rule[64];

	(void)error_set(&d->error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE, "refused");
	assert_int_equal(error_key(&d->error, key, number), YETT_E_RESOURCE_LIMIT);
	refuse_plan_complete(&d->plan, &d->error);
	refuse_rate(d->policy, &d->error);
	(void)snprintf(rule, sizeof rule, "%s%s", key, asked ? " of grant 'g'" : "");
	assert_string_equal(d->error.rule, rule);
	assert_string_equal(d->error.asked, asked ? asked : "");
	assert_string_equal(d->error.allowed, allowed ? allowed : "");
	assert_int_equal(d->error.line, asked ? 2 : number);
	assert_int_equal(*d->error.mend != '\0', asked != NULL);
}

WITH_DECIDE(what_root_refuses_is_written_down_by_the_plan_and_the_policy)
{
	uint32_t step;

	decide_policy(
		d,
		"profile \"default\" { }\ngrant \"g\" { users = {\"*\"} profiles = {\"*\"} share_rw = {\"/srv\"} max_sandboxes = 3 "
		"user_memory = 2G max_creations = 4 max_requests = 9 }\n");
	decide_share(d, 0, SHARE_RW, "/a");
	assert_int_equal(decide_plan(d), 0);
	step = (uint32_t)(find(d, "/a") - d->plan.steps);
	completed(d, "max_sandboxes", 0, "4", "3");
	completed(d, "user_memory", 2064, "2064M", "2G");
	completed(d, "share_rw", step, "/a", "/srv");
	completed(d, "max_creations", 0, "5", "4");
	completed(d, "max_requests", 0, "10", "9");
	/* What cannot be is left as it was said. */
	completed(d, "share_rw", PLAN_STEPS_MAX, NULL, NULL);
	completed(d, "max_requests", 1, NULL, NULL);
	completed(d, "max_memory", 0, NULL, NULL);
}

TEST_MAIN(NULL, NULL)
