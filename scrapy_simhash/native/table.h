/* A few hundred names, each with a number. */

#ifndef SCRAPY_SIMHASH_TABLE_H
#define SCRAPY_SIMHASH_TABLE_H

#include "core.h"

#include <string.h>

#define SLOTS 512
#define LONGEST 255 /* bytes of a name */

typedef struct {
    const char *names[SLOTS];
    unsigned char lengths[SLOTS], numbers[SLOTS];
} Table;

static inline unsigned next_hash(unsigned hash, char c)
{
    return hash * 31 + (unsigned char)c;
}

/* The slot of a name with that hash, or an empty slot. */
static inline unsigned slot_of(const Table *table, const char *name, size_t length, unsigned hash)
{
    unsigned slot = hash % SLOTS;
    while (table->lengths[slot] && (table->lengths[slot] != length ||
                                    memcmp(table->names[slot], name, length) != 0))
        slot = (slot + 1) % SLOTS;
    return slot;
}

/* `packed`: length, number and name, one after the other. Returns whether it is valid; the table
 * points into it. */
int read_table(Table *table, const Py_buffer *packed);

#endif
