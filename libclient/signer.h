/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signers: a key file's secret, or a callback to a key that is kept elsewhere.
 *
 * Runs with the caller's privilege. A secret is in libsodium's memory, locked where the limits
 * allow it, and is wiped with the signer. The secret is never copied out.
 */
#pragma once

#include "base/error.h"
#include "libclient/keyfile.h"
#include "libclient/yett.h"

struct yett_signer {
	uint8_t public_key[YETT_KEY_SIZE];
	yett_sign_fn sign;
	void *data;
	uint8_t *secret; /* sodium_malloc(3); NULL: the secret is kept elsewhere */
};

/* Signs a message. Returns 0, or YETT_E_BAD_SIGNATURE if the signer refused. */
_must_check_ int signer_sign(const struct yett_signer *signer, const uint8_t *message,
                             size_t length, uint8_t ret_signature[YETT_SIGNATURE_SIZE],
                             struct yett_error *error);

/*
 * Makes a signer from the seed of its key, which the function copies. Returns 0,
 * YETT_E_OUT_OF_MEMORY, or YETT_E_UNSUPPORTED: the kernel has no random numbers.
 */
_must_check_ int signer_from_seed(const uint8_t seed[KEY_SEED_SIZE],
                                  struct yett_signer **ret_signer, struct yett_error *error);

/* Makes a signer with a random key that is stored nowhere. */
_must_check_ int signer_new_passing(struct yett_signer **ret_signer, struct yett_error *error);

static inline void signer_freep(struct yett_signer **signer)
{
	yett_signer_free(*signer);
}
