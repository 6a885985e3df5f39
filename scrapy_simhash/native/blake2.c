/* BLAKE2b, as in RFC 7693: `hashlib` can't be called without the GIL. */

#include "blake2.h"

#define BLOCK 128

static const uint64_t start[8] = {
    0x6A09E667F3BCC908u, 0xBB67AE8584CAA73Bu, 0x3C6EF372FE94F82Bu, 0xA54FF53A5F1D36F1u,
    0x510E527FADE682D1u, 0x9B05688C2B3E6C1Fu, 0x1F83D9ABFB41BD6Bu, 0x5BE0CD19137E2179u,
};

static const uint8_t order[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static inline uint64_t turned(uint64_t word, int by)
{
    return word >> by | word << (64 - by);
}

static inline void mix(uint64_t *v, int a, int b, int c, int d, uint64_t x, uint64_t y)
{
    v[a] += v[b] + x;
    v[d] = turned(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = turned(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = turned(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = turned(v[b] ^ v[c], 63);
}

static void compress(uint64_t *state, const uint8_t *block, uint64_t done, int is_last)
{
    uint64_t v[16], m[16];

    for (int word = 0; word < 16; word++) {
        m[word] = 0;
        for (int byte = 8; byte-- > 0;)
            m[word] = m[word] << 8 | block[8 * word + byte];
    }
    memcpy(v, state, 64);
    memcpy(v + 8, start, 64);
    v[12] ^= done;
    v[14] ^= is_last ? ~(uint64_t)0 : 0;
    for (int round = 0; round < 12; round++) {
        const uint8_t *of = order[round % 10];
        mix(v, 0, 4, 8, 12, m[of[0]], m[of[1]]);
        mix(v, 1, 5, 9, 13, m[of[2]], m[of[3]]);
        mix(v, 2, 6, 10, 14, m[of[4]], m[of[5]]);
        mix(v, 3, 7, 11, 15, m[of[6]], m[of[7]]);
        mix(v, 0, 5, 10, 15, m[of[8]], m[of[9]]);
        mix(v, 1, 6, 11, 12, m[of[10]], m[of[11]]);
        mix(v, 2, 7, 8, 13, m[of[12]], m[of[13]]);
        mix(v, 3, 4, 9, 14, m[of[14]], m[of[15]]);
    }
    for (int word = 0; word < 8; word++)
        state[word] ^= v[word] ^ v[word + 8];
}

void blake2b(uint8_t *digest, size_t size, const uint8_t *key, size_t key_size, const uint8_t *at,
             size_t length)
{
    uint64_t state[8], done = 0;
    uint8_t block[BLOCK] = {0};

    memcpy(state, start, sizeof state);
    state[0] ^= 0x01010000u ^ key_size << 8 ^ size;
    if (key_size) {
        memcpy(block, key, key_size);
        compress(state, block, done = BLOCK, !length);
    }
    for (; length > BLOCK; at += BLOCK, length -= BLOCK)
        compress(state, at, done += BLOCK, 0);
    if (length || !key_size) {
        memset(block, 0, BLOCK);
        memcpy(block, at, length);
        compress(state, block, done + length, 1);
    }
    for (size_t byte = 0; byte < size; byte++)
        digest[byte] = (uint8_t)(state[byte / 8] >> 8 * (byte % 8));
}
