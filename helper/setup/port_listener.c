/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF program that catches a sandbox's connections: see egress.h.
 *
 * Runs with full privilege, in a child that was just forked. Must read nothing that a client sent:
 * the program is the same for every sandbox. bpf(2), kernel documentation: bpf/prog_sk_lookup
 */
#include "helper/setup/egress.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/*
 * EGRESS_OWN_V4, and the first two 32-bit words of EGRESS_OWN_V6. The last two words of
 * EGRESS_OWN_V6 are 0 and 1, as in ::1.
 */
#define OWN_V4        0xC6120001u
#define OWN_V6_FIRST  0xFD796574u
#define OWN_V6_SECOND 0x74000000u

/* Jump targets in the program. */
enum place { NEXT, V6, SECOND, PROTOCOL, ASSIGN, PASS, DROP, PLACES };

struct step {
	enum place here, to;
	struct bpf_insn insn;
};

enum { R0, R1, R2, R3, R6 = 6, R7, R10 = 10 };

#define LOAD(reg, member)                           \
	.insn = {.code = BPF_LDX | BPF_MEM | BPF_W, \
	         .dst_reg = (reg),                  \
	         .src_reg = R6,                     \
	         .off = offsetof(struct bpf_sk_lookup, member)}
#define SET(reg, value) \
	.insn = {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (reg), .imm = (value)}
#define COPY(reg, from) \
	.insn = {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (reg), .src_reg = (from)}
#define CALL(function) .insn = {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_##function}
#define EXIT           .insn = {.code = BPF_JMP | BPF_EXIT}
#define ALWAYS         .insn = {.code = BPF_JMP | BPF_JA}
#define IF(reg, value) \
	.insn = {.code = BPF_JMP32 | BPF_JEQ | BPF_K, .dst_reg = (reg), .imm = (int32_t)(value)}
#define UNLESS(reg, value) \
	.insn = {.code = BPF_JMP32 | BPF_JNE | BPF_K, .dst_reg = (reg), .imm = (int32_t)(value)}

/*
 * The kernel runs the program for each packet that needs a socket lookup, before it looks for a
 * listener. TCP to any address goes to the listener of its family, UDP to port 53 to the DNS
 * socket. Loopback and the sandbox's own address are left alone. Other datagrams are dropped, and
 * their sender gets an error at once. Nothing gets through once the sockets are closed.
 *
 * Addresses are in network byte order, the port is in host byte order. R7 holds first the key of
 * the socket map, then the socket.
 */
static int load_program(int map)
{
	const struct step steps[] = {
		{COPY(R6, R1)},
		{SET(R7, NET_LISTEN_TCP4)},
		{LOAD(R1, family)},
		{.to = V6, IF(R1, AF_INET6)},
		{LOAD(R1, local_ip4)},
		{.to = PASS, IF(R1, htonl(OWN_V4))},
		{.insn = {.code = BPF_ALU | BPF_AND | BPF_K,
	                  .dst_reg = R1,
	                  .imm = (int32_t)htonl(0xff000000)}},
		{.to = PASS, IF(R1, htonl(0x7f000000))},
		{.to = PROTOCOL, ALWAYS},
		{.here = V6, SET(R7, NET_LISTEN_TCP6)},
		{LOAD(R1, local_ip6[2])},
		{.to = PROTOCOL, UNLESS(R1, 0)},
		{LOAD(R1, local_ip6[3])},
		{.to = PROTOCOL, UNLESS(R1, htonl(1))},
		{LOAD(R1, local_ip6[0])},
		{LOAD(R2, local_ip6[1])},
		{.to = SECOND, IF(R1, htonl(OWN_V6_FIRST))},
		{.insn = {.code = BPF_ALU | BPF_OR | BPF_X, .dst_reg = R1, .src_reg = R2}},
		{.to = PASS, IF(R1, 0)},
		{.to = PROTOCOL, ALWAYS},
		{.here = SECOND, .to = PASS, IF(R2, htonl(OWN_V6_SECOND))},
		{.here = PROTOCOL, LOAD(R1, protocol)},
		{.to = ASSIGN, IF(R1, IPPROTO_TCP)},
		{LOAD(R1, local_port)},
		{.to = DROP, UNLESS(R1, NET_LISTEN_PORT_DNS)},
		{SET(R7, NET_LISTEN_DNS)},
		{.here = ASSIGN,
	         .insn = {.code = BPF_STX | BPF_MEM | BPF_W,
	                  .dst_reg = R10,
	                  .src_reg = R7,
	                  .off = -4}},
		{.insn = {.code = BPF_LD | BPF_DW | BPF_IMM,
	                  .dst_reg = R1,
	                  .src_reg = BPF_PSEUDO_MAP_FD,
	                  .imm = map}},
		{.insn = {.code = 0}}, /* second half of BPF_LD | BPF_DW */
		{COPY(R2, R10)},
		{.insn = {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = R2, .imm = -4}},
		{CALL(map_lookup_elem)},
		{.to = DROP, .insn = {.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = R0}},
		{COPY(R7, R0)},
		{COPY(R1, R6)},
		{COPY(R2, R0)},
		{SET(R3, 0)},
		{CALL(sk_assign)},
		{COPY(R6, R0)},
		{COPY(R1, R7)},
		{CALL(sk_release)},
		{.to = DROP, UNLESS(R6, 0)},
		{.here = PASS, SET(R0, SK_PASS)},
		{EXIT},
		{.here = DROP, SET(R0, SK_DROP)},
		{EXIT},
	};
	struct bpf_insn program[ARRAY_SIZE(steps)];
	size_t places[PLACES] = {0};
	union bpf_attr load = {.prog_type = BPF_PROG_TYPE_SK_LOOKUP,
	                       .expected_attach_type = BPF_SK_LOOKUP,
	                       .insns = (uint64_t)(uintptr_t)program,
	                       .insn_cnt = ARRAY_SIZE(steps),
	                       /* no function that the program calls requires a stricter license */
	                       .license = (uint64_t)(uintptr_t) "GPL",
	                       .prog_name = "yett_catch"};
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		places[steps[i].here] = i;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		program[i] = steps[i].insn;
		if (steps[i].to != NEXT)
			program[i].off = (int16_t)(places[steps[i].to] - i - 1);
	}
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof load);
	return fd < 0 ? -errno : fd;
}

static int make_map(const int sockets[static NET_LISTEN_SOCKETS])
{
	union bpf_attr create = {.map_type = BPF_MAP_TYPE_SOCKMAP,
	                         .key_size = sizeof(uint32_t),
	                         .value_size = sizeof(uint64_t),
	                         .max_entries = NET_LISTEN_SOCKETS,
	                         .map_name = "yett_catch"};
	_cleanup_fd_ int map = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &create, sizeof create);

	for (uint32_t key = 0; map >= 0 && key < NET_LISTEN_SOCKETS; key++) {
		uint64_t socket = (uint64_t)sockets[key];
		union bpf_attr update = {.map_fd = (uint32_t)map,
		                         .key = (uint64_t)(uintptr_t)&key,
		                         .value = (uint64_t)(uintptr_t)&socket,
		                         .flags = BPF_ANY};

		if (sockets[key] >= 0 &&
		    syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &update, sizeof update) < 0)
			return -errno;
	}
	return map < 0 ? -errno : steal_fd(&map);
}

bool port_listener_is_possible(void)
{
	_cleanup_fd_ int map = make_map((const int[NET_LISTEN_SOCKETS]){-1, -1, -1}),
			 program = map < 0 ? map : load_program(map);

	return program >= 0 || program == -EAGAIN || program == -ENOMEM || program == -EMFILE ||
	       program == -ENFILE; /* errors that go away by themselves */
}

int port_listener_attach(const int sockets[static NET_LISTEN_SOCKETS])
{
	_cleanup_fd_ int map = make_map(sockets), program = map < 0 ? map : load_program(map);
	_cleanup_fd_ int namespace = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	union bpf_attr link = {.link_create = {.prog_fd = (uint32_t)program,
	                                       .target_fd = (uint32_t) namespace,
	                                       .attach_type = BPF_SK_LOOKUP}};
	int fd;

	if (program < 0 || namespace < 0)
		return program < 0 ? program : -errno;
	fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof link);
	return fd < 0 ? -errno : fd;
}
