/* Tables of names, collapsed text, and blocks of text from a tree. */

#ifndef SCRAPY_SIMHASH_TREE_H
#define SCRAPY_SIMHASH_TREE_H

#include "core.h"

#define SLOTS 512
#define LONGEST 255 /* bytes of a name */

/* A few hundred names, each with a number. */
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

/* The width of a text whose white space is being collapsed. */
typedef struct {
    Py_ssize_t width;
    int pending;
} Line;

/* As in text/blocks.py; kinds of blocks follow BLOCK. */
enum { INLINE, SPACE, LINK, SKIP, BLOCK, BESIDE, LEAF, PARAGRAPH, HEADING };
enum { CHROME, SLUG, COMMENT };
enum { UNMARKED, MARKED, COMMENTS, DIALOG };

/* A block. */
typedef struct {
    size_t start, end; /* in the text of all */
    Py_ssize_t width, linked;
    int kind, is_marked, is_kept;
} Piece;

/* The blocks inside an element; density.c uses the other fields. */
typedef struct {
    Py_ssize_t start, stop, total, inner, part;
    int mark, may_be_article, is_boilerplate;
} Span;

/* The content of a tree, each piece of text with a newline behind it. */
typedef struct {
    Buffer text, pieces, spans, stack, skipped;
    Line line, links;
    size_t begin; /* of the current piece */
    int is_odd;   /* something is left to Python */
    const Table *words; /* that mark an element; NULL where no spans are needed */
} Walk;

static inline Py_ssize_t count_pieces(const Walk *walk)
{
    return (Py_ssize_t)(walk->pieces.used / sizeof(Piece));
}

static inline Piece *pieces_of(const Walk *walk)
{
    return (Piece *)(void *)walk->pieces.bytes;
}

int has_failed(const Walk *walk);

/* text.blocks.walk. `root`: an element of lxml. */
void walk_tree(Walk *walk, PyObject *root, const Table *actions, const Table *words);

/* The same for skipped elements that are visible, without spans. */
void walk_skipped(Walk *walk, const Table *visible);

void free_walk(Walk *walk);

#endif
