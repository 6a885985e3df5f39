#ifndef SCRAPY_SIMHASH_PLAIN_H
#define SCRAPY_SIMHASH_PLAIN_H

#include "core.h"

typedef const unsigned char *At;

/* Stands behind each number of a text, and in none. */
#define BETWEEN '\x1f'

/* Normalise a text in UTF-8. Returns where the new one, which is not longer, ends; NULL to leave it
 * to Python. */
unsigned char *plain_text(At at, At end, unsigned char *made);

/* The characters of a text, anything for invalid UTF-8. Returns how many. */
Py_ssize_t read_characters(At at, At end, uint32_t *points);

/* Append the numbers of a text: item.numbers._numbers. Returns 0 to leave it to Python, -1 without
 * memory. With signs: whether any of them may tell a state. */
int numbers_of(At start, At end, int normalised, Bytes *found, const unsigned char *signs, int *tells);

/* Bytes of corpus.plain._SIGNS: three sets of hashes of words. */
#define SET_OF_SIGNS 8192
#define SIGNS (3 * SET_OF_SIGNS)

/* Whether numbers of a normalised text may tell its state, which has no time relative to now. */
int may_tell_state(At start, At end, const unsigned char *signs);

#endif
