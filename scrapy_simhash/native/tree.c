/* Blocks of text from a tree: text/blocks.py.
 *
 * No Python code runs while a pointer into the tree is held. Unusual trees are left to Python.
 */

#include "tree.h"

#include "node.h"

#define SEEN 64

typedef struct {
    Py_ssize_t start;
    int kind;
} Around;

/* The action of each tag, by address: libxml2 shares equal names of a document. */
typedef struct {
    const Table *table;
    const char *names[SEEN];
    int actions[SEEN];
} Actions;

int action_of_tag(const Table *table, const char *name)
{
    const char *local = strrchr(name, '}');
    unsigned hash = 0;
    name = local ? local + 1 : name;
    size_t length = strlen(name);
    for (size_t at = 0; at < length; at++)
        hash = next_hash(hash, name[at]);
    unsigned slot = slot_of(table, name, length, hash);
    return table->lengths[slot] ? table->numbers[slot] : BLOCK;
}

static int action_of(Actions *actions, const Node *node)
{
    const char *name = name_of(node);
    if (node->type != XML_ELEMENT_NODE)
        return INLINE;
    if (!name)
        return BLOCK;
    size_t place = ((uintptr_t)name ^ (uintptr_t)name >> 6) % SEEN;
    if (actions->names[place] != name) {
        actions->names[place] = name;
        actions->actions[place] = action_of_tag(actions->table, name);
    }
    return actions->actions[place];
}

/* Add the text that begins with a node: the text of an element, or its tail. */
static void add_text(Walk *walk, const Node *node, int in_links)
{
    for (; node && is_text(node); node = node->next) {
        if (!node->content)
            continue;
        walk->is_odd |= !add_to_line(&walk->line, &walk->text, content_of(node));
        if (in_links)
            add_to_line(&walk->links, NULL, content_of(node));
    }
}

static void end_piece(Walk *walk, int kind)
{
    if (walk->line.width) {
        Piece piece = {walk->begin, walk->text.used, walk->line.width, walk->links.width, kind, 0, 0};
        append(&walk->pieces, &piece, sizeof piece);
        append(&walk->text, "\n", 1);
    }
    walk->begin = walk->text.used;
    memset(&walk->line, 0, sizeof walk->line);
    memset(&walk->links, 0, sizeof walk->links);
}

static int is_docbook(Walk *walk, const Node *element)
{
    const Node *child = element->children;
    while (child && !is_in_tree(child))
        child = child->next;
    const char *name = NULL;
    if (child && child->type == XML_ELEMENT_NODE)
        name = value_of(child, "class", &walk->is_odd);
    return name && !strcmp(name, "titlepage");
}

static void add_span(Walk *walk, const Node *element, Py_ssize_t start, int kind)
{
    Span span = {start, count_pieces(walk), 0, 0, 0, kind == BESIDE ? MARKED : UNMARKED,
                 kind < LEAF, 0, 0};
    if (element->properties && !span.mark) {
        int *is_odd = &walk->is_odd;
        const char *names[] = {value_of(element, "class", is_odd), value_of(element, "id", is_odd)};
        int is_sidebar = (names[0] && !strcmp(names[0], "sidebar")) ||
                         (names[1] && !strcmp(names[1], "sidebar"));
        const char *role = value_of(element, "role", is_odd);
        const char *modal = value_of(element, "aria-modal", is_odd);
        if ((modal && !strcmp(modal, "true")) ||
            (role && (!strcmp(role, "dialog") || !strcmp(role, "alertdialog"))))
            span.mark = DIALOG;
        else
            span.mark = mark_of(walk->words, names, value_of(element, "style", is_odd),
                                is_sidebar && is_docbook(walk, element));
    }
    append(&walk->spans, &span, sizeof span);
}

/* The first node from there on that lxml has an object for. Others than text end the walk. */
static const Node *next_in_tree(Walk *walk, const Node *node)
{
    for (; node && !is_in_tree(node); node = node->next)
        walk->is_odd |= !is_text(node);
    return node;
}

int has_failed(const Walk *walk)
{
    return walk->text.failed | walk->pieces.failed | walk->spans.failed | walk->stack.failed |
           walk->skipped.failed;
}

/* Cut what is inside of an element into pieces. */
static void cut(Walk *walk, const Node *root, Actions *actions)
{
    Py_ssize_t start = count_pieces(walk);
    int kind = BLOCK, links = 0, starts = 1;
    const Node *node = root;

    for (;;) {
        int action = action_of(actions, node), is_skipped = 0;
        if (walk->is_odd || has_failed(walk))
            return;
        if (action >= BLOCK) {
            end_piece(walk, kind);
            if (starts) {
                Around around = {start, kind};
                append(&walk->stack, &around, sizeof around);
                kind = action;
                start = count_pieces(walk);
            } else {
                Around around;
                if (count_pieces(walk) > start && walk->words)
                    add_span(walk, node, start, kind);
                walk->stack.used -= sizeof around;
                memcpy(&around, walk->stack.bytes + walk->stack.used, sizeof around);
                kind = around.kind;
                start = around.start;
            }
        } else if (action == LINK) {
            if (attribute_of(node, "href") || !attribute_of(node, "name"))
                links += starts ? 1 : -1;
        } else if (action == SPACE) {
            walk->line.pending = 1;
        } else if (action == SKIP && starts) {
            append(&walk->skipped, &node, sizeof node);
            is_skipped = 1;
        }
        const Node *inside = NULL;
        if (starts && node->type == XML_ELEMENT_NODE && !is_skipped) {
            add_text(walk, node->children, links > 0);
            inside = next_in_tree(walk, node->children);
        }
        if (inside) {
            node = inside;
            starts = 1;
        } else if (starts && node->type == XML_ELEMENT_NODE) {
            starts = 0; /* its end comes next */
        } else if (node == root) {
            break;
        } else {
            add_text(walk, node->next, links > 0);
            const Node *beside = next_in_tree(walk, node->next);
            starts = beside != NULL;
            node = beside ? beside : node->parent;
        }
    }
    end_piece(walk, kind);
}

void walk_tree(Walk *walk, PyObject *root, const Table *table, const Table *words)
{
    const Node *node = node_of(root);
    Actions actions = {.table = table};
    Span page = {0, 0, 0, 0, 0, UNMARKED, 1, 0, 0};

    walk->words = words;
    walk->is_odd = !node;
    if (walk->is_odd)
        return;
    cut(walk, node, &actions);
    page.stop = count_pieces(walk);
    append(&walk->spans, &page, sizeof page);
}

void walk_skipped(Walk *walk, const Table *visible)
{
    size_t skipped = walk->skipped.used / sizeof(Node *);
    Actions actions = {.table = visible};
    walk->words = NULL;
    for (size_t at = 0; at < skipped && !walk->is_odd && !walk->skipped.failed; at++) {
        const Node *node;
        memcpy(&node, walk->skipped.bytes + at * sizeof node, sizeof node);
        if (action_of(&actions, node) != SKIP)
            cut(walk, node, &actions);
    }
}

void free_walk(Walk *walk)
{
    PyMem_Free(walk->text.bytes);
    PyMem_Free(walk->pieces.bytes);
    PyMem_Free(walk->spans.bytes);
    PyMem_Free(walk->stack.bytes);
    PyMem_Free(walk->skipped.bytes);
}
