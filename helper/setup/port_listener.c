/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF program that catches a sandbox's connections: see egress.h.
 *
 * Runs with full privilege, in a child that was just forked. Must read nothing that a client sent:
 * the program is the same for every sandbox. bpf(2), kernel documentation: bpf/prog_sk_lookup
 */
#include "helper/setup/egress.h"

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

#define STEP(place, ...)                               \
	{                                              \
		.to = (place), .insn = { __VA_ARGS__ } \
	}
#define LOAD(reg, member)                                                              \
	STEP(NEXT, .code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = (reg), .src_reg = R6, \
	     .off = offsetof(struct bpf_sk_lookup, member))
#define SET(reg, value) \
	STEP(NEXT, .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (reg), .imm = (value))
#define COPY(reg, from) \
	STEP(NEXT, .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (reg), .src_reg = (from))
#define CALL(function) STEP(NEXT, .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_##function)
#define EXIT           STEP(NEXT, .code = BPF_JMP | BPF_EXIT)
#define GOTO(place)    STEP(place, .code = BPF_JMP | BPF_JA)
#define IF(test, reg, value, place) \
	STEP(place, .code = BPF_JMP32 | (test) | BPF_K, .dst_reg = (reg), .imm = (int32_t)(value))
/* A jump to the next instruction, which the kernel removes. */
#define AT(place)                                                    \
	{                                                            \
		.here = (place), .insn = {.code = BPF_JMP | BPF_JA } \
	}

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
		COPY(R6, R1),
		SET(R7, NET_LISTEN_TCP4),
		LOAD(R1, family),
		IF(BPF_JEQ, R1, AF_INET6, V6),
		LOAD(R1, local_ip4),
		IF(BPF_JEQ, R1, htonl(OWN_V4), PASS),
		STEP(NEXT, .code = BPF_ALU | BPF_AND | BPF_K, .dst_reg = R1,
	             .imm = (int32_t)htonl(0xff000000)),
		IF(BPF_JEQ, R1, htonl(0x7f000000), PASS),
		GOTO(PROTOCOL),
		AT(V6),
		SET(R7, NET_LISTEN_TCP6),
		LOAD(R1, local_ip6[2]),
		IF(BPF_JNE, R1, 0, PROTOCOL),
		LOAD(R1, local_ip6[3]),
		IF(BPF_JNE, R1, htonl(1), PROTOCOL),
		LOAD(R1, local_ip6[0]),
		LOAD(R2, local_ip6[1]),
		IF(BPF_JEQ, R1, htonl(OWN_V6_FIRST), SECOND),
		STEP(NEXT, .code = BPF_ALU | BPF_OR | BPF_X, .dst_reg = R1, .src_reg = R2),
		IF(BPF_JEQ, R1, 0, PASS),
		GOTO(PROTOCOL),
		AT(SECOND),
		IF(BPF_JEQ, R2, htonl(OWN_V6_SECOND), PASS),
		AT(PROTOCOL),
		LOAD(R1, protocol),
		IF(BPF_JEQ, R1, IPPROTO_TCP, ASSIGN),
		LOAD(R1, local_port),
		IF(BPF_JNE, R1, NET_LISTEN_PORT_DNS, DROP),
		SET(R7, NET_LISTEN_DNS),
		AT(ASSIGN),
		STEP(NEXT, .code = BPF_STX | BPF_MEM | BPF_W, .dst_reg = R10, .src_reg = R7,
	             .off = -4),
		STEP(NEXT, .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = R1,
	             .src_reg = BPF_PSEUDO_MAP_FD, .imm = map),
		STEP(NEXT, 0), /* second half of BPF_LD | BPF_DW */
		COPY(R2, R10),
		STEP(NEXT, .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = R2, .imm = -4),
		CALL(map_lookup_elem),
		STEP(DROP, .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = R0),
		COPY(R7, R0),
		COPY(R1, R6),
		COPY(R2, R0),
		SET(R3, 0),
		CALL(sk_assign),
		COPY(R6, R0),
		COPY(R1, R7),
		CALL(sk_release),
		IF(BPF_JNE, R6, 0, DROP),
		AT(PASS),
		SET(R0, SK_PASS),
		EXIT,
		AT(DROP),
		SET(R0, SK_DROP),
		EXIT,
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
