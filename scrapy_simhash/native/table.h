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

/* Where a name with that hash stands, or where there is none. */
static inline unsigned slot_of(const Table *table, const char *name, size_t length, unsigned hash)
{
    unsigned slot = hash % SLOTS;
    while (table->lengths[slot] && (table->lengths[slot] != length ||
                                    memcmp(table->names[slot], name, length) != 0))
        slot = (slot + 1) % SLOTS;
    return slot;
}

/* `packed`: of each name its length, its number, and itself. Returns whether it is that; the table
 * needs it for as long as it is used. */
int read_table(Table *table, const Py_buffer *packed);

#endif
