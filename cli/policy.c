/* See policy.h. */
#include "cli/policy.h"

#include <limits.h>
#include <string.h>

#include "cli/output.h"
#include "libclient/yett.h"

int policy_main(const struct subcommand *self, int argc, char **argv)
{
	char helper[PATH_MAX], word[] = "yett-helper", of_all[] = "--check", of_file[] = "--check-policy";
	struct yett_error error = {0};
	int first, r = options_begin(self, argc, argv, NULL, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	if (strcmp(argv[first], "check") != 0) {
		output_note("policy knows no %s, only: yett policy check [FILE]", argv[first]);
		return EXIT_USAGE;
	}
	if (yett_helper_path(NULL, helper, sizeof helper, &error)) {
		output_error(&error);
		return EXIT_FAILURE;
	}
	(void)execv(helper, (char *const[]){word, argv[first + 1] ? of_file : of_all, argv[first + 1], NULL});
	output_note("cannot execute %s: %m", helper);
	return EXIT_FAILURE;
}
