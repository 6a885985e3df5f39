/* The folded characters of a text, and its tokens: features/tokens.py. */

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

int is_fold_table(const Py_buffer *table);

/* Fold characters in place. Returns how many are left; -1 if the text has to be normalised. */
Py_ssize_t fold(uint32_t *points, Py_ssize_t length, const Py_buffer *table, int normalised);

/* Whether a character belongs to the token of the one before it. */
static inline int joins(uint32_t character, uint32_t next)
{
    return next >= MARK || (next && character < ALONE && next < ALONE);
}

#endif
