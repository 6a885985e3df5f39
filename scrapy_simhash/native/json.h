#ifndef SCRAPY_SIMHASH_JSON_H
#define SCRAPY_SIMHASH_JSON_H

#include "plain.h"

enum { IGNORED, COMPARED, ADDRESS }; /* what a field is */

typedef struct {
    Py_buffer name;
    int is;
} Field;

/* The two fields that count of a JSON object, in UTF-8. */
typedef struct {
    Bytes text, url;
    int has_text, has_url;
} Item;

/* Read a line. Returns 0 to leave it to Python: it is not surely an item, or has something else
 * than simple values, unknown fields, or an address in another field; -1 without memory. */
int read_item(At at, At end, const Field *fields, Py_ssize_t count, Item *item);

#endif
