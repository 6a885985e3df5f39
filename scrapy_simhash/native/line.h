/* Buffers that grow, and text whose white space is collapsed. */

#ifndef SCRAPY_SIMHASH_LINE_H
#define SCRAPY_SIMHASH_LINE_H

#include "core.h"

#include <string.h>

/* A buffer that grows. Failure is remembered, so that one check at the end is enough. */
typedef struct {
    char *bytes;
    size_t used, room;
    int failed;
} Buffer;

/* The width of a text whose white space is being collapsed. */
typedef struct {
    Py_ssize_t width;
    int pending;
} Line;

/* Make room for more bytes. Returns whether that worked. */
int grow(Buffer *buffer, size_t size);

static inline void append(Buffer *buffer, const void *bytes, size_t size)
{
    if (buffer->room - buffer->used < size && !grow(buffer, size))
        return;
    memcpy(buffer->bytes + buffer->used, bytes, size);
    buffer->used += size;
}

/* Add UTF-8 that ends with a NUL. `text`: the target; NULL to count the width only. Returns 0 for
 * invalid UTF-8. */
int add_to_line(Line *line, Buffer *text, const char *content);

#endif
