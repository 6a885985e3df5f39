/* The folded characters of a text, its tokens and shingles: features/tokens.py, features/shingles.py. */

#ifndef SCRAPY_SIMHASH_TOKENS_H
#define SCRAPY_SIMHASH_TOKENS_H

#include "core.h"

/* Values of the fold table, as in features/tokens.py. */
#define ALONE (1u << 21)
#define CLUSTER (1u << 22)
#define MARK (CLUSTER | ALONE)
#define SYMBOL (1u << 29)
#define COMPOSES (1u << 30)
#define INVISIBLE (1u << 31)
#define BEYOND (INVISIBLE + 1)

/* How tokens are hashed: see core_sketches. */
typedef struct {
    unsigned long long base, pair, second; /* 0 where no fingerprint and no digest is needed */
    Py_ssize_t window;
} Hashing;

/* Room for a text: one of each for every character, two ends. */
typedef struct {
    Py_ssize_t length;
    uint64_t *hashes, *sorted;
    uint32_t *ends, *points;
    uint8_t *letters;
    uint64_t digest; /* of the tokens, in their order */
} Room;

/* NULL without memory; `hashes` is to be freed. */
void *take_room(Room *room, Py_ssize_t length);

/* The characters of a text, anything for invalid UTF-8. Returns how many. */
Py_ssize_t read_characters(At at, At end, uint32_t *points);

/* The sorted shingles of the characters in `points`. Returns how many; -1 to be normalised. */
Py_ssize_t make_shingles(Room *room, Py_ssize_t length, const Py_buffer *table, int normalised,
                         const Hashing *with);

int is_fold_table(const Py_buffer *table);

/* Fold characters in place. Returns how many are left; -1 if the text has to be normalised. */
Py_ssize_t fold(uint32_t *points, Py_ssize_t length, const Py_buffer *table, int normalised);

/* Whether a character belongs to the token of the one before it. */
static inline int joins(uint32_t character, uint32_t next)
{
    return next >= MARK || (next && character < ALONE && next < ALONE);
}

/* What two sets of shingles have in common; -1 as soon as their similarity is surely less. */
Py_ssize_t count_common(const Py_buffer *a, const Py_buffer *b, double least);

#endif
