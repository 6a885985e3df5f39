/* Blocks of text from a tree, and the elements that hold them. */

#ifndef SCRAPY_SIMHASH_TREE_H
#define SCRAPY_SIMHASH_TREE_H

#include "line.h"
#include "table.h"

/* As in text/blocks.py; kinds of blocks follow BLOCK. */
enum { INLINE, SPACE, LINK, SKIP, BLOCK, BESIDE, LEAF, PARAGRAPH, HEADING };
enum { CHROME, SLUG };

/* A block. */
typedef struct {
    size_t start, end; /* in the text of all */
    Py_ssize_t width, linked;
    int kind, is_marked, is_kept;
} Piece;

/* The blocks inside an element; density.c uses the other fields. */
typedef struct {
    Py_ssize_t start, stop, total, inner, part;
    int is_marked, may_be_article;
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

/* What a tag does to the text around it. */
int action_of_tag(const Table *actions, const char *name);

int has_failed(const Walk *walk);

/* text.blocks.walk. `root`: an element of lxml. */
void walk_tree(Walk *walk, PyObject *root, const Table *actions, const Table *words);

/* The same for skipped elements that are visible, without spans. */
void walk_skipped(Walk *walk, const Table *visible);

void free_walk(Walk *walk);

/* text.blocks.marks of a class and an id, and a style; NULL where there is none. */
int marks(const Table *words, const char *names[2], const char *style, int is_docbook);

#endif
