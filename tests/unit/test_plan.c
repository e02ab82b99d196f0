/* SPDX-License-Identifier: Apache-2.0 */
/* The plan as a container, and as the text that a person reads. */
#include "programs/decide/decider/plan_add.h"
#include "programs/decide/decider/plan_name.h"
#include "tests/support/testing.h"
#include "tests/unit/decide.h"
#include "tests/unit/printed.h"

TEST(a_text_outside_the_arena_is_the_empty_one)
{
	struct plan *plan = calloc(1, sizeof *plan);
	struct plan_text text = {0};

	assert_string_equal(plan_text(plan, text), "");
	assert_int_equal(plan_add_text(plan, "abc", &text), 0);
	assert_int_equal(text.offset, 1);
	assert_string_equal(plan_text(plan, text), "abc");
	assert_string_equal(plan_text(plan, (struct plan_text){0}), "");
	assert_string_equal(plan_text(plan, (struct plan_text){5}), "");
	assert_string_equal(plan_text(plan, (struct plan_text){UINT32_MAX}), "");
	/* As another process could have made it: used beyond its size, and without an end. */
	memset(plan->arena, 'x', sizeof plan->arena);
	plan->arena_used = UINT32_MAX;
	assert_string_equal(plan_text(plan, (struct plan_text){PLAN_ARENA_MAX - 1}), "");
	assert_int_equal(plan_add_text(plan, "abc", &text), -ENOSPC);
	free(plan);
}

TEST(a_full_plan_takes_no_more)
{
	struct plan *plan = calloc(1, sizeof *plan);
	struct plan_text text = {0};
	char half[PLAN_ARENA_MAX / 2];

	memset(half, 'y', sizeof half);
	half[sizeof half - 1] = '\0';
	assert_int_equal(plan_add_text(plan, half, &text), 0);
	assert_int_equal(plan_add_text(plan, half, &text), -ENOSPC);
	assert_int_equal(plan_add_text(plan, half + 1, &text), 0);
	assert_int_equal(plan->arena_used, PLAN_ARENA_MAX);
	assert_int_equal(plan_add_text(plan, "", &text), 0);
	assert_int_equal(plan_add_text(plan, "z", &text), -ENOSPC);
	for (int i = 0; i < PLAN_STEPS_MAX; i++)
		assert_non_null(plan_add_step(plan, PLAN_MASK));
	assert_null(plan_add_step(plan, PLAN_MASK));
	free(plan);
}

TEST(every_step_has_a_name)
{
	for (unsigned kind = 0; kind < PLAN_STEP_KINDS; kind++)
		assert_true(strlen(plan_name_step(kind)) > 1);
	assert_string_equal(plan_name_step(PLAN_READ_ONLY), "read-only");
	assert_string_equal(plan_name_step(PLAN_STEP_KINDS), "unknown step");
}

static const char expected[] =
	"sandbox 00112233445566ff: profile default (built-in:1), grant users (built-in:9)\n"
	"caller uid 1000, gid 1000, groups 27\n"
	"  1 slot           sandboxes of this user at most 3\n"
	"  2 cgroup         memory 512M, cpus 1.5, weight 100, pids unlimited, of each disk a second written 4M; the user's together: memory 2G, cpus unlimited, pids 9\n"
	"  3 ids\n"
	"  4 template       default\n"
	"  5 root           size 64M, home /home/alice\n"
	"  6 devpts         terminals 16\n"
	"  7 etc            user alice, group staff, shell /bin/sh\n"
	"  8 tmpfs          /scratch, size 1M, mode 1777\n"
	"  9 share          /w\\x0aork\\xc3\\xa9, descriptor 2, writable, from /srv /home\n"
	" 10 share          /all, descriptor 0, read-only\n"
	" 11 host           /data, from /usr/share, read-only (built-in:4)\n"
	" 12 mask           /proc/keys, where it exists\n"
	" 13 hostname       box\n"
	" 14 identity       the caller's ids inside, private ones outside, umask 0022, nice -1, capabilities 0x21, files 64, file-size "
	"unlimited, cpu-time 10, stack 8M of at most 64M, core files 1M\n"
	" 15 init           AppArmor profile boxed (required), HOME=/home/alice LANG=C.UTF-8\n";

static const char expected_json[] =
	"{\"id\":\"00112233445566ff\",\"profile\":{\"name\":\"default\",\"place\":\"built-in:1\"},\"grant\":{\"name\":\"users\",\"place\":\"built-in:9\"},\"caller\":{\"uid\":1000,\"gid\":1000,\"groups\":[27]},\"weaker\":null,\"name\":null,\"labels\":[],\"annotations\":[],\"life\":{\"linger\":false,\"linger_ms\":0,\"wall_ms\":0,\"cpu_ms\":0,\"idle_ms\":0,\"idle_action\":\"end\",\"cleanup_ms\":0,\"command_timeout_ms\":0,\"max_command_timeout_ms\":0},\"steps\":["
	"{\"step\":\"slot\",\"place\":null,\"sandboxes_max\":3},"
	"{\"step\":\"cgroup\",\"place\":null,\"limits\":{\"memory_bytes\":536870912,\"cpu_millis\":1500,\"pids\":0},\"cpu_weight\":100,\"io_read_bytes\":null,\"io_write_bytes\":4194304,\"user_limits\":{\"memory_bytes\":2147483648,\"cpu_millis\":0,\"pids\":9}},"
	"{\"step\":\"ids\",\"place\":null},"
	"{\"step\":\"template\",\"place\":null,\"profile\":\"default\"},"
	"{\"step\":\"root\",\"place\":null,\"size_bytes\":67108864,\"home\":\"/home/alice\"},"
	"{\"step\":\"devpts\",\"place\":null,\"terminals_max\":16},{\"step\":\"etc\",\"place\":null,\"user\":\"alice\",\"group\":\"staff\",\"shell\":\"/bin/sh\"},"
	"{\"step\":\"tmpfs\",\"place\":null,\"target\":\"/scratch\",\"size_bytes\":1048576,\"mode\":1023},"
	"{\"step\":\"share\",\"place\":null,\"target\":\"/w\\u000aorké\",\"descriptor\":2,\"writable\":true,\"socket\":false,\"allowed_below\":[\"/srv\",\"/home\"]},"
	"{\"step\":\"share\",\"place\":null,\"target\":\"/all\",\"descriptor\":0,\"writable\":false,\"socket\":false,\"allowed_below\":null},"
	"{\"step\":\"host\",\"place\":\"built-in:4\",\"target\":\"/data\",\"source\":\"/usr/share\",\"writable\":false},"
	"{\"step\":\"mask\",\"place\":null,\"target\":\"/proc/keys\",\"optional\":true},"
	"{\"step\":\"hostname\",\"place\":null,\"hostname\":\"box\"},"
	"{\"step\":\"identity\",\"place\":null,\"identity\":\"private\",\"umask\":18,\"nice\":-1,\"capabilities\":33,\"nested_userns\":false,\"perf_events\":false,\"limits\":{\"files\":64,\"file_bytes\":0,\"cpu_seconds\":10,\"stack_bytes\":8388608,\"stack_max_bytes\":67108864,\"core_bytes\":1048576}},"
	"{\"step\":\"init\",\"place\":null,\"apparmor_profile\":\"boxed\",\"selinux_type\":null,\"label_required\":true,\"env\":[\"HOME=/home/alice\",\"LANG=C.UTF-8\"]}]}";

static struct plan_text add(struct plan *plan, const char *string)
{
	struct plan_text text;

	assert_int_equal(plan_add_text(plan, string, &text), 0);
	return text;
}

static struct plan *example(void)
{
	static const uint32_t plain[] = {PLAN_SLOT, PLAN_CGROUP, PLAN_IDS, PLAN_TEMPLATE,
	                                 PLAN_ROOT, PLAN_DEVPTS, PLAN_ETC};
	struct plan *plan = calloc(1, sizeof *plan);
	struct plan_step *step = NULL;

	strcpy(plan->id, "00112233445566ff");
	plan->caller_uid = plan->caller_gid = 1000;
	plan->groups[0] = 27;
	plan->groups_count = 1;
	plan->capabilities = 0x21;
	plan->sandboxes_max = 3;
	plan->terminals_max = 16;
	plan->limits = (struct plan_limits){.memory_bytes = 512 << 20,
	                                    .cpu_millis = 1500,
	                                    .cpu_weight = 100,
	                                    .files = 64,
	                                    .cpu_seconds = 10,
	                                    .stack_bytes = 8 << 20,
	                                    .stack_max_bytes = 64 << 20,
	                                    .core_bytes = 1 << 20,
	                                    .io_write_bytes = 4 << 20};
	plan->user_limits = (struct plan_limits){.memory_bytes = 2ull << 30, .pids = 9};
	plan->umask = 022;
	plan->nice = -1;
	plan->user_name = add(plan, "alice");
	plan->group_name = add(plan, "staff");
	plan->home = add(plan, "/home/alice");
	plan->label = add(plan, "boxed");
	plan->label_required = true;
	plan->shell = add(plan, "/bin/sh");
	plan->env[plan->env_count++] = add(plan, "HOME=/home/alice");
	plan->env[plan->env_count++] = add(plan, "LANG=C.UTF-8");
	plan->profile_name = add(plan, "default");
	plan->profile_place = add(plan, "built-in:1");
	plan->grant_name = add(plan, "users");
	plan->grant_place = add(plan, "built-in:9");
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		step = plan_add_step(plan, plain[i]);
	plan->steps[4].size_bytes = 64 << 20;
	step = plan_add_step(plan, PLAN_TMPFS);
	step->target = add(plan, "/scratch");
	step->size_bytes = 1 << 20;
	step->mode = 01777;
	step = plan_add_step(plan, PLAN_SHARE);
	step->target = add(plan, "/w\nork\303\251");
	step->source = add(plan, "/srv\n/home");
	step->writable = true;
	step->fd = 2;
	step = plan_add_step(plan, PLAN_SHARE);
	step->target = add(plan, "/all");
	step->source = add(plan, "*");
	step = plan_add_step(plan, PLAN_HOST);
	step->target = add(plan, "/data");
	step->source = add(plan, "/usr/share");
	step->from = add(plan, "built-in:4");
	step = plan_add_step(plan, PLAN_MASK);
	step->target = add(plan, "/proc/keys");
	step->optional = true;
	plan_add_step(plan, PLAN_HOSTNAME)->source = add(plan, "box");
	(void)plan_add_step(plan, PLAN_IDENTITY);
	(void)plan_add_step(plan, PLAN_INIT);
	return plan;
}

TEST(a_plan_prints_a_step_a_line_and_nothing_that_a_terminal_obeys)
{
	struct plan *plan = example();
	size_t length;
	char *text = printed_plan(plan, &length);

	assert_string_equal(text, expected);
	assert_string_equal(text + sizeof expected, expected_json);
	assert_int_equal(length, sizeof expected + sizeof expected_json - 1);
	free(text);
	free(plan);
}

TEST(a_plan_with_numbers_out_of_range_still_prints)
{
	struct plan *plan = calloc(1, sizeof *plan);
	size_t length;
	char *text;

	memset(plan, 0xff, sizeof *plan);
	for (uint32_t i = 0; i < PLAN_STEPS_MAX; i++)
		plan->steps[i].writable = plan->steps[i].optional = plan->steps[i].is_socket =
			false; /* no other byte is a bool */
	plan->life.linger = plan->life.idle_pauses = plan->overlay_ro = plan->label_required =
		plan->is_dry = false;
	plan->nested_userns = plan->perf_events = false;
	plan->id[0] = '\0';
	plan->steps_count = UINT32_MAX;
	text = printed_plan(plan, &length);
	assert_non_null(strstr(text, "512 unknown step"));
	free(text);
	free(plan);
}

TEST_MAIN(NULL, NULL)
