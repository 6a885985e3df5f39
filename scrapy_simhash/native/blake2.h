#ifndef SCRAPY_SIMHASH_BLAKE2_H
#define SCRAPY_SIMHASH_BLAKE2_H

#include "core.h"

/* hashlib.blake2b of some bytes, with a digest of up to 64 bytes and a key of up to 64. */
void blake2b(uint8_t *digest, size_t size, const uint8_t *key, size_t key_size, const uint8_t *at,
             size_t length);

#endif
