/*
 * Who signs: a key file's secret, or a callback to wherever the key is.
 *
 * With the caller's privilege. A secret lives in memory of libsodium's, locked where the limits
 * allow, and is wiped with the signer; it is never copied out.
 */
#pragma once

#include "base/error.h"
#include "libclient/yett.h"

#define KEY_PRIVATE_PREFIX "yett-ed25519-private-v1 "
#define KEY_PUBLIC_PREFIX  "ed25519 "
#define KEY_SEED_SIZE      32

struct yett_signer {
	uint8_t public_key[YETT_KEY_SIZE];
	yett_sign_fn sign;
	void *data;
	uint8_t *secret; /* sodium_malloc(3); NULL: the secret is elsewhere */
};

/* Signs; 0, or YETT_E_BAD_SIGNATURE when the signer would not. */
_must_check_ int signer_sign(const struct yett_signer *signer, const uint8_t *message,
                             size_t length, uint8_t ret_signature[YETT_SIGNATURE_SIZE],
                             struct yett_error *error);

/* A signer from the seed of its key, which it copies. 0, YETT_E_OUT_OF_MEMORY, or
 * YETT_E_UNSUPPORTED: no random numbers. */
_must_check_ int signer_from_seed(const uint8_t seed[KEY_SEED_SIZE],
                                  struct yett_signer **ret_signer, struct yett_error *error);

/* The same with a key that nobody has had and nobody will have. */
_must_check_ int signer_new_passing(struct yett_signer **ret_signer, struct yett_error *error);

static inline void signer_freep(struct yett_signer **signer)
{
	yett_signer_free(*signer);
}
