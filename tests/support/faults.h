/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to happen at a named step of a program that links faults.c: memory that the program and
 * the test have in common.
 *
 * Tests in Python reach it by the functions of tests/hostile/layouts.c.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define FAULTS_NAME_SIZE 64
#define FAULTS_LOG_SIZE  256

enum fault_action { ACTION_NONE, ACTION_HOLD, ACTION_FAIL };

struct faults {
	char name[FAULTS_NAME_SIZE]; /* "process:step" */
	uint32_t action;             /* enum fault_action */
	int32_t error;
	atomic_uint armed, reached,
		go; /* armed: 1 is the next time it is reached; reached: 1 at the step, 2 past it */
	int32_t pid;
	uint32_t is_recording;
	atomic_uint log_count;
	char log[FAULTS_LOG_SIZE][FAULTS_NAME_SIZE];
};
