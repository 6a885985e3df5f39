/* Names with numbers: see table.h. */

#include "table.h"

int read_table(Table *table, const Py_buffer *packed)
{
    const unsigned char *at = packed->buf, *end = at + packed->len;
    int count = 0;
    memset(table->lengths, 0, sizeof table->lengths);
    for (; end - at > 2 && at[0] && end - at >= 2 + at[0] && count < 400; at += 2 + at[0], count++) {
        const char *name = (const char *)at + 2;
        unsigned hash = 0;
        for (int place = 0; place < at[0]; place++)
            hash = next_hash(hash, name[place]);
        unsigned slot = slot_of(table, name, at[0], hash);
        table->lengths[slot] = at[0];
        table->numbers[slot] = at[1];
        table->names[slot] = name;
    }
    return at == end;
}
