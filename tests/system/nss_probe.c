/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A name service as a captured or broken one is: by the first label of the name it tries what it
 * should not, and answers 11.0.0.2 if that worked, else 11.0.0.3. Loaded by yett-resolver under the
 * name of one that the host has (nsswitch.conf(5)).
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <nss.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED enum nss_status _nss_hesiod_gethostbyname2_r(const char *name, int family,
                                                      struct hostent *result, char *buffer,
                                                      size_t size, int *error, int *host_error);

static bool begins(const char *name, const char *word)
{
	return strncmp(name, word, strlen(word)) == 0;
}

/* In a directory that is open to everybody. */
static bool can_write(void)
{
	return open("/tmp", O_TMPFILE | O_WRONLY, 0600) >= 0 &&
	       open("/dev/shm", O_TMPFILE | O_WRONLY, 0600) >= 0;
}

static bool can_execute(void)
{
	char *argv[] = {(char *)"true", NULL};
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		(void)execv("/bin/true", argv);
		_exit(1);
	}
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* Whether anything but the one pipe, in place of 0, is at hand: the resolver's socket, or the pipe
 * of another name. */
static bool has_descriptors(void)
{
	for (int fd = 3; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return true;
	return false;
}

static bool attempt(const char *name)
{
	if (begins(name, "crash."))
		abort();
	while (begins(name, "hang."))
		(void)pause();
	if (begins(name, "write."))
		return can_write();
	if (begins(name, "execute."))
		return can_execute();
	if (begins(name, "signal."))
		return kill((pid_t)strtol(name + strlen("signal.p"), NULL, 10), 0) ==
		       0; /* signal.pPID. */
	if (begins(name, "descriptors."))
		return has_descriptors();
	return true;
}

enum nss_status _nss_hesiod_gethostbyname2_r(const char *name, int family, struct hostent *result,
                                             char *buffer, size_t size, int *error, int *host_error)
{
	struct {
		char *addresses[2], *aliases[1];
		struct in_addr address;
		char name[256];
	} *made = (void *)(((uintptr_t)buffer + 15) & ~(uintptr_t)15);

	if (family != AF_INET) {
		*host_error = NO_DATA;
		return NSS_STATUS_NOTFOUND;
	}
	if (size < sizeof *made + 16) {
		*error = ERANGE;
		*host_error = NETDB_INTERNAL;
		return NSS_STATUS_TRYAGAIN;
	}
	memset(made, 0, sizeof *made);
	made->address.s_addr = htonl(attempt(name) ? 0x0b000002 : 0x0b000003);
	made->addresses[0] = (char *)&made->address;
	memcpy(made->name, name,
	       strlen(name) < sizeof made->name ? strlen(name) : sizeof made->name - 1);
	*result = (struct hostent){made->name, made->aliases, AF_INET, sizeof made->address,
	                           made->addresses};
	return NSS_STATUS_SUCCESS;
}
