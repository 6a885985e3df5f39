/* Text as it is gathered: in a buffer that grows, its white space made single spaces. */

#ifndef SCRAPY_SIMHASH_LINE_H
#define SCRAPY_SIMHASH_LINE_H

#include "core.h"

#include <string.h>

/* What grows as it is written. Failure is remembered, so that it need be asked for once only. */
typedef struct {
    char *bytes;
    size_t used, room;
    int failed;
} Buffer;

/* Text whose white space is being made single spaces, and how wide it is. */
typedef struct {
    Py_ssize_t width;
    int pending;
} Line;

/* Make room for so many more bytes. Returns whether there is. */
int grow(Buffer *buffer, size_t size);

static inline void append(Buffer *buffer, const void *bytes, size_t size)
{
    if (buffer->room - buffer->used < size && !grow(buffer, size))
        return;
    memcpy(buffer->bytes + buffer->used, bytes, size);
    buffer->used += size;
}

/* Add UTF-8 that ends with a NUL. `text`: where to put it; NULL if only its width is asked for.
 * Returns 0 where it is no UTF-8. */
int add_to_line(Line *line, Buffer *text, const char *content);

#endif
