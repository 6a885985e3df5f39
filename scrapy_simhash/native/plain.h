#ifndef SCRAPY_SIMHASH_PLAIN_H
#define SCRAPY_SIMHASH_PLAIN_H

#include "core.h"

typedef const unsigned char *At;

/* Normalise a text in UTF-8. Returns where the new one, which is not longer, ends; NULL to leave it
 * to Python. */
unsigned char *plain_text(At at, At end, unsigned char *made);

#endif
