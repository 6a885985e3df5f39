#ifndef SCRAPY_SIMHASH_PLAIN_H
#define SCRAPY_SIMHASH_PLAIN_H

#include "core.h"

typedef const unsigned char *At;

/* Stands behind each number of a text, and in none. */
#define BETWEEN '\x1f'

/* Normalise a text in UTF-8. Returns where the new one, which is not longer, ends; NULL to leave it
 * to Python. */
unsigned char *plain_text(At at, At end, unsigned char *made);

/* Append the numbers of a text: item.numbers._numbers. Returns 0 to leave it to Python, -1 without
 * memory. */
int numbers_of(At start, At end, int normalised, Bytes *found);

/* Whether a text may have a digit, of any script, when it is normalised. */
int may_have_digits(At at, At end);

#endif
