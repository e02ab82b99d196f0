/* SPDX-License-Identifier: Apache-2.0 */
/* See suggest.h. */
#include "cli/suggest.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/near.h"

#define WORD_MAX 24

struct habit {
	const char *words; /* a space around each; NULL: an unknown word that resembles no other */
	const char *of;    /* names of subcommands, a space around each; NULL: any */
	const char *hint;
};

static const struct habit subcommand_habits[] = {
	{" rm remove delete del stop terminate ", NULL,
         "yett destroy ends a sandbox, yett kill the commands in it"},
	{" start ", NULL, "yett create makes a sandbox, yett resume has a paused one go on"},
	{" unpause continue ", NULL, "yett resume"},
	{" list containers ", NULL, "yett ps lists sandboxes, yett ls files of one"},
	{" info status show ", NULL, "yett inspect shows a sandbox, yett doctor this machine"},
	{" copy push pull ", NULL, "yett cp copies into a sandbox and out of it"},
	{" enter ssh login ", NULL,
         "yett shell starts a shell in a new sandbox, yett exec -t in one that is there"},
	{" new init ", NULL, "yett create"},
	{" images image build profile ", NULL,
         "sandboxes use profiles, which the policy defines: yett run -p PROFILE"},
	{" version -V -v ", NULL, "yett --version"},
};

static const struct habit option_habits[] = {
	{" -V --version ", NULL, "yett --version"},
	{" --rm ", " exec create ", "yett destroy ends a sandbox"},
	{" -i --interactive ", " run exec ", "the caller's input is passed on anyway"},
	{" -it -ti ", " run exec ",
         "-t gives the command a terminal, and input is passed on anyway"},
	{" -it -ti -i -t --tty ", " shell ", "it has a terminal anyway"},
	{" -v --volume --mount ", " run shell create ",
         "--ro PATH[:TARGET] and --rw PATH[:TARGET] share a directory"},
	{" --bind --dev-bind ", " run shell create ", "--rw PATH[:TARGET]"},
	{" --ro-bind ", " run shell create ", "--ro PATH[:TARGET]"},
	{" -d --detach ", " run exec ",
         "-b leaves the command in the background, of a sandbox that lingers: --linger"},
	{" -w --workdir --chdir --cwd --pwd ", " run shell exec env ", "-C DIR"},
	{" --setenv -E ", " run shell exec ", "-e NAME=VALUE"},
	{" -m ", " run shell create ", "--memory SIZE"},
	{" --cpu ", " run shell create ", "--cpus N"},
	{" --pids-limit ", " run shell create ", "--pids N"},
	{" --network ", " run shell create ",
         "--net none, --net limited, --net open, or --net host where the policy allows it"},
	{" --share-net ", " run shell create ",
         "--net open, or --net host where the policy allows it"},
	{" --publish ", " run shell create exec ",
         "yett net publish SANDBOX HOSTPORT:PORT forwards a port"},
	{" --net --network --share-net --allow --deny ", " exec ",
         "set the network when you make the sandbox: yett run, yett create"},
	{" --unshare-all --unshare-net --unshare-pid --unshare-user --unshare-ipc --unshare-uts --unshare-cgroup --die-with-parent --new-session "
         "--proc --dev --clearenv --cap-drop --security-opt ",
         " run shell create ", "a sandbox is so anyway"},
	{" --uid ", " run shell exec ", "-u UID"},
	{" -l -la -al ", " ls ", "it lists so anyway"},
	{" -r -R -a -p -rp -pr --recursive ", " cp ",
         "it copies directories with modes and times anyway"},
	{" -9 -15 -KILL -TERM -INT -HUP ", " kill ", "-s SIGNAL"},
	{" -f --force ", " destroy kill ", "it ends what runs anyway"},
	{NULL, " policy ",
         "put the arguments of yett run after --: yett policy explain -- OPTION… COMMAND"},
};

static bool has_word(const char *words, const char *word)
{
	char spaced[WORD_MAX + 3];

	if (!words || !word)
		return words == word;
	return (size_t)snprintf(spaced, sizeof spaced, " %s ", word) < sizeof spaced &&
	       strstr(words, spaced);
}

static const char *find_habit(const struct habit *habits, size_t count, const char *word,
                              const char *subcommand)
{
	for (size_t i = 0; i < count; i++)
		if (has_word(habits[i].words, word) &&
		    (!habits[i].of || has_word(habits[i].of, subcommand)))
			return habits[i].hint;
	return NULL;
}

void suggest_subcommand(const char *word, const char *const *names, size_t count, char *out,
                        size_t size)
{
	const char *hint = find_habit(subcommand_habits, ARRAY_SIZE(subcommand_habits), word, ""),
		   *near;

	if (hint)
		(void)snprintf(out, size, "%s", hint);
	else if (*word == '-')
		(void)snprintf(out, size,
		               "options stand behind the subcommand, yett help lists those");
	else if ((near = near_word(word, names, count)))
		(void)snprintf(out, size, "did you mean yett %s?", near);
	else
		(void)snprintf(out, size,
		               "yett run -- %.100s runs a program, yett help lists all subcommands",
		               word);
}

void suggest_option(const char *subcommand, const char *word, const char *const *names,
                    size_t count, char *out, size_t size)
{
	const char *near, *equals = strchr(word, '=');
	char name[WORD_MAX + 1];
	const char *hint;

	(void)snprintf(name, sizeof name, "%.*s", (int)(equals ? equals - word : WORD_MAX), word);
	hint = find_habit(option_habits, ARRAY_SIZE(option_habits), name, subcommand);
	near = !hint && strncmp(name, "--", 2) == 0 ? near_word(name + 2, names, count) : NULL;
	if (!hint && !near)
		hint = find_habit(option_habits, ARRAY_SIZE(option_habits), NULL, subcommand);
	if (near)
		(void)snprintf(out, size, "did you mean --%s?", near);
	else
		(void)snprintf(out, size, "%s", hint ? hint : "");
}
