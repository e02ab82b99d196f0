/* SPDX-License-Identifier: Apache-2.0 */
/* admit_unpack() of a struct of any bytes and any length, by EVA: nothing outside of it is read or
 * written to, also by memmove(3). */
#include "tests/prove/models.h"

#include "helper/plan/admit.c"

static struct plan plan;

void main(void)
{
	int r;

	Frama_C_make_unknown((char *)&plan, sizeof plan);
	r = admit_unpack(&plan, Frama_C_size_t_interval(0, SIZE_MAX));
	//@ check code: r == 0 || r == -EPROTO;
}
