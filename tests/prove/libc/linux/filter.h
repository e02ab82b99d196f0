/* SPDX-License-Identifier: Apache-2.0 */
/* Of linux/filter.h what the policy's struct points to: Frama-C has no headers of the kernel.
 * Nothing that is proven looks into it. */
#pragma once

struct sock_filter {
	unsigned short code;
	unsigned char jt, jf;
	unsigned int k;
};
