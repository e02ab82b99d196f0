/* SPDX-License-Identifier: Apache-2.0 */
/* See signer.h. */
#include "libclient/signer.h"

#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

#include "base/failure.h"
#include "base/home.h"
#include "libclient/keyfile.h"

static int sign_with_secret(const uint8_t *message, size_t length,
                            uint8_t ret_signature[YETT_SIGNATURE_SIZE], void *data)
{
	const struct yett_signer *signer = data;

	return crypto_sign_detached(ret_signature, NULL, message, length, signer->secret) == 0
	               ? 0
	               : EIO;
}

int signer_sign(const struct yett_signer *signer, const uint8_t *message, size_t length,
                uint8_t ret_signature[YETT_SIGNATURE_SIZE], struct yett_error *error)
{
	void *data = signer->secret ? (void *)signer : signer->data;
	int r = signer->sign(message, length, ret_signature, data);

	if (r == 0)
		return 0;
	errno = r < 0 ? -r : r;
	return failure_set(error, YETT_E_BAD_SIGNATURE, NULL,
	                   "the signer did not sign the request: %m");
}

int signer_from_seed(const uint8_t seed[KEY_SEED_SIZE], struct yett_signer **ret_signer,
                     struct yett_error *error)
{
	_cleanup_(signer_freep) struct yett_signer *signer = calloc(1, sizeof *signer);

	if (sodium_init() < 0)
		return error_set(error, YETT_E_UNSUPPORTED, YETT_R_NONE,
		                 "the kernel gives no random numbers for a key");
	if (!signer || !(signer->secret = sodium_malloc(crypto_sign_SECRETKEYBYTES)))
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for the key");
	(void)crypto_sign_seed_keypair(signer->public_key, signer->secret, seed);
	signer->sign = sign_with_secret;
	*ret_signer = steal_ptr(&signer);
	return 0;
}

int signer_new_passing(struct yett_signer **ret_signer, struct yett_error *error)
{
	uint8_t seed[KEY_SEED_SIZE];
	int r;

	if (sodium_init() < 0)
		return error_set(error, YETT_E_UNSUPPORTED, YETT_R_NONE,
		                 "the kernel gives no random numbers for a key");
	randombytes_buf(seed, sizeof seed);
	r = signer_from_seed(seed, ret_signer, error);
	sodium_memzero(seed, sizeof seed);
	return r;
}

int yett_signer_new(const uint8_t public_key[YETT_KEY_SIZE], yett_sign_fn sign, void *data,
                    struct yett_signer **ret_signer, struct yett_error *error)
{
	struct yett_signer *signer = calloc(1, sizeof *signer);

	if (!signer)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for the signer");
	memcpy(signer->public_key, public_key, YETT_KEY_SIZE);
	signer->sign = sign;
	signer->data = data;
	*ret_signer = signer;
	return 0;
}

int yett_signer_load(const char *path, struct yett_signer **ret_signer, struct yett_error *error)
{
	char default_path[HOME_PATH_SIZE];
	uint8_t seed[KEY_SEED_SIZE];
	int r;

	if (!path) {
		r = yett_key_path(default_path, sizeof default_path, error);
		if (r)
			return r;
		path = default_path;
	}
	r = keyfile_read_seed(path, seed, error);
	if (r == 0)
		r = signer_from_seed(seed, ret_signer, error);
	sodium_memzero(seed, sizeof seed);
	return r;
}

const uint8_t *yett_signer_public_key(const struct yett_signer *signer)
{
	return signer->public_key;
}

void yett_signer_free(struct yett_signer *signer)
{
	if (!signer)
		return;
	sodium_free(signer->secret); /* also wipes the secret */
	free(signer);
}
