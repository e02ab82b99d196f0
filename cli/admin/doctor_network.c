/* SPDX-License-Identifier: Apache-2.0 */
/* See doctor.h: checks whether sandboxes can have a network on this machine. */
#include "cli/admin/doctor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* 198.18.0.0/15: the synthetic addresses that names have inside */
#define FAKE_NETWORK UINT32_C(0xc6120000)
#define FAKE_MASK    UINT32_C(0xfffe0000)
/* a wider route, such as a VPN's 128.0.0.0/1, is a default route, not one to these addresses */
#define LEAST_MASK UINT32_C(0xff000000)
#define BPF_NONE   UINT32_MAX /* not a command of bpf(2) */

#define LANDLOCK_ABI_OF_SCOPES 6 /* landlock(7) */

/*
 * A file that shows that cgroup v1 has the memory controller, and the file that limits the memory
 * of TCP buffers. cgroup-v1/memory.rst
 */
#define V1_MEMORY "/sys/fs/cgroup/memory/memory.limit_in_bytes"
#define V1_TCP    "/sys/fs/cgroup/memory/memory.kmem.tcp.limit_in_bytes"

bool doctor_routes_fakes(const char *routes, char ret_interface[16])
{
	unsigned destination, mask;
	char name[16];

	for (const char *line = strchr(routes, '\n'); line; line = strchr(line + 1, '\n')) {
		uint32_t network;

		if (sscanf(line + 1, "%15s %x %*x %*x %*d %*d %*d %x", name, &destination, &mask) !=
		    3)
			continue;
		network = ntohl(destination);
		mask = ntohl(mask);
		if (mask < LEAST_MASK || ((network ^ FAKE_NETWORK) & mask & FAKE_MASK) != 0)
			continue;
		memcpy(ret_interface, name, sizeof name);
		return true;
	}
	return false;
}

static bool read_routes(char *out, size_t size)
{
	FILE *file = fopen("/proc/net/route", "re");
	size_t n = file ? fread(out, 1, size - 1, file) : 0;

	out[n] = '\0';
	if (file)
		(void)fclose(file);
	return n > 0;
}

static bool doctor_network_has_ipv6(void)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

/*
 * Whether the kernel has bpf(2). Only the helper knows whether it may use bpf(2), which takes root:
 * see look_ports().
 */
static bool has_bpf(void)
{
	return syscall(SYS_bpf, BPF_NONE, NULL, 0) >= 0 || errno != ENOSYS;
}

void doctor_look_network(bool is_rootless, struct doctor_finding *finding)
{
	char routes[65536], name[16];

	if (is_rootless)
		doctor_found(
			finding, DOCTOR_WEAKER,
			"have the administrator start the service, as docs/admin.md says",
			"connections can be intercepted only at ports that rules name: other ports need root");
	else if (!has_bpf())
		doctor_found(
			finding, DOCTOR_WEAKER, "use a kernel with CONFIG_BPF_SYSCALL",
			"connections can be intercepted only at ports that rules name: the kernel has no BPF");
	else if (read_routes(routes, sizeof routes) && doctor_routes_fakes(routes, name))
		doctor_found(
			finding, DOCTOR_WEAKER,
			"have it answer with the real addresses; or allow NAME:PORT@198.18.0.0/15, or set allow_private in the profile",
			"%s routes 198.18.0.0/15, as with a VPN that answers with synthetic addresses: names then resolve to private addresses, "
			"which no rule for a name alone allows",
			name);
	else if (access(V1_MEMORY, F_OK) == 0 && access(V1_TCP, F_OK) < 0)
		doctor_found(
			finding, DOCTOR_WEAKER,
			"boot with systemd.unified_cgroup_hierarchy=1, or a kernel with memory.kmem.tcp",
			"connections can be intercepted, but their kernel memory has no limit: cgroup v1 has no memory.kmem.tcp here");
	else if (!doctor_network_has_ipv6())
		doctor_found(finding, DOCTOR_OK, "boot without ipv6.disable=1 to reach IPv6",
		             "connections can be intercepted, IPv4 only: IPv6 is off");
	else
		doctor_found(finding, DOCTOR_OK, NULL, "connections can be intercepted");
}

/* The same conditions as in check_scope() of helper/supervisor/supervisor.c. */
void doctor_add_host_network(bool is_rootless, struct doctor_finding *finding)
{
	size_t used = strlen(finding->found);
	FILE *file = is_rootless ? NULL : fopen("/sys/fs/selinux/enforce", "re");
	bool is_enforced = file && fgetc(file) == '1';
	bool has_scopes = syscall(SYS_landlock_create_ruleset, NULL, 0,
	                          LANDLOCK_CREATE_RULESET_VERSION) >= LANDLOCK_ABI_OF_SCOPES;

	if (file)
		(void)fclose(file);
	(void)snprintf(
		finding->found + used, sizeof finding->found - used, "; %s",
		has_scopes ? "the host's own (--net host) can be given"
		: is_enforced
			? "the host's own (--net host) can be given if the loaded SELinux policy has Yett's module"
			: "the host's own (--net host) cannot be given: that takes Landlock 6 (Linux 6.12), or SELinux, enforcing");
}
