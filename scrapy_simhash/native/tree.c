/* A tree that lxml has parsed to blocks of text: text/blocks.py.
 *
 * Of libxml2 and lxml only what has not changed since libxml2 2.0 and lxml 5 is read, the first
 * fields of their structures; none of their functions is called. While a pointer into the tree is
 * held nothing of Python runs. What is unusual is left to the pure path: an answer of None.
 */

#include "line.h"

#include <string.h>

enum { ELEMENT = 1, TEXT = 3, CDATA = 4, PI = 7, COMMENT = 8, HTML_DOCUMENT = 13 };
enum { INLINE, SPACE, LINK, SKIP, BLOCK }; /* and further kinds of blocks */

typedef struct node {
    void *private;
    int type;
    const char *name;
    struct node *children, *last, *parent, *next, *prev, *document;
    void *space;
    const char *content;     /* of an element or a text */
    struct node *attributes; /* of an element; each of them begins as a node does */
} Node;

typedef struct {
    PyObject_HEAD
    PyObject *document;
    Node *node;
    PyObject *tag;
} Element;

typedef struct {
    size_t start, end; /* in the text of all */
    Py_ssize_t width, linked;
    int kind;
} Piece;

/* Class, id and style as offsets of what was copied, -1 where there is none. */
typedef struct {
    Py_ssize_t start, stop, values[3];
    int kind, is_docbook;
} Span;

typedef struct {
    Py_ssize_t start;
    int kind;
} Around;

typedef struct {
    Buffer text, pieces, spans, values, stack, skipped;
    Line line, links;
    size_t begin; /* of the current piece */
    int is_odd;   /* something is left to the pure path */
    int is_beside; /* what was skipped is read, of which no spans are needed */
} Walk;

typedef struct {
    const char *names[512];
    unsigned char lengths[512], actions[512];
} Actions;

static size_t slot_of(const char *name, size_t length)
{
    size_t hash = length;
    for (size_t at = 0; at < length; at++)
        hash = hash * 31 + (unsigned char)name[at];
    return hash % 512;
}

/* `packed`: of each name its length, its action, and itself. Returns whether it is that. */
static int read_actions(Actions *actions, const Py_buffer *packed)
{
    const unsigned char *at = packed->buf, *end = at + packed->len;
    int count = 0;
    memset(actions->lengths, 0, sizeof actions->lengths);
    for (; end - at > 2 && at[0] && end - at >= 2 + at[0] && count < 400; at += 2 + at[0], count++) {
        size_t slot = slot_of((const char *)at + 2, at[0]);
        while (actions->lengths[slot])
            slot = (slot + 1) % 512;
        actions->lengths[slot] = at[0];
        actions->actions[slot] = at[1];
        actions->names[slot] = (const char *)at + 2;
    }
    return at == end;
}

static int action_of(const Actions *actions, const Node *node)
{
    const char *name = node->name, *local;
    if (node->type != ELEMENT)
        return INLINE;
    if (!name)
        return BLOCK;
    if ((local = strrchr(name, '}')))
        name = local + 1;
    size_t length = strlen(name), slot = slot_of(name, length);
    for (; actions->lengths[slot]; slot = (slot + 1) % 512)
        if (actions->lengths[slot] == length && !memcmp(actions->names[slot], name, length))
            return actions->actions[slot];
    return BLOCK;
}

/* Add the text that begins with a node: what lxml calls the text of an element, or the tail. */
static void add_text(Walk *walk, const Node *node, int in_links)
{
    for (; node && (node->type == TEXT || node->type == CDATA); node = node->next) {
        if (!node->content)
            continue;
        walk->is_odd |= !add_to_line(&walk->line, &walk->text, node->content);
        if (in_links)
            add_to_line(&walk->links, NULL, node->content);
    }
}

static void end_piece(Walk *walk, int kind)
{
    if (walk->line.width) {
        Piece piece = {walk->begin, walk->text.used, walk->line.width, walk->links.width, kind};
        append(&walk->pieces, &piece, sizeof piece);
    }
    walk->begin = walk->text.used;
    memset(&walk->line, 0, sizeof walk->line);
    memset(&walk->links, 0, sizeof walk->links);
}

static Py_ssize_t count_pieces(const Walk *walk)
{
    return (Py_ssize_t)(walk->pieces.used / sizeof(Piece));
}

/* The value of an attribute; NULL where there is none. */
static const char *value_of(Walk *walk, const Node *element, const char *name)
{
    const Node *attribute = element->attributes;
    while (attribute && (attribute->space || strcmp(attribute->name, name) != 0))
        attribute = attribute->next;
    if (!attribute)
        return NULL;
    const Node *value = attribute->children;
    if (!value)
        return "";
    if (value->next || value->type != TEXT || !value->content) {
        walk->is_odd = 1;
        return "";
    }
    return value->content;
}

static int is_in_tree(int type)
{
    return type == ELEMENT || type == COMMENT || type == PI;
}

static int is_docbook(Walk *walk, const Node *element)
{
    const Node *child = element->children;
    while (child && !is_in_tree(child->type))
        child = child->next;
    const char *name = child && child->type == ELEMENT ? value_of(walk, child, "class") : NULL;
    return name && !strcmp(name, "titlepage");
}

static void add_span(Walk *walk, const Node *element, Py_ssize_t start, int kind)
{
    static const char *const names[] = {"class", "id", "style"};
    Span span = {start, count_pieces(walk), {-1, -1, -1}, kind, 0};
    for (int at = 0; at < 3; at++) {
        const char *value = value_of(walk, element, names[at]);
        if (!value)
            continue;
        span.values[at] = (Py_ssize_t)walk->values.used;
        append(&walk->values, value, strlen(value) + 1);
        if (at < 2 && !strcmp(value, "sidebar"))
            span.is_docbook = is_docbook(walk, element);
    }
    append(&walk->spans, &span, sizeof span);
}

/* The first node from there on that is in lxml's tree. Others than text end the walk. */
static const Node *next_in_tree(Walk *walk, const Node *node)
{
    for (; node && !is_in_tree(node->type); node = node->next)
        walk->is_odd |= node->type != TEXT && node->type != CDATA;
    return node;
}

static int has_failed(const Walk *walk)
{
    return walk->text.failed | walk->pieces.failed | walk->spans.failed | walk->values.failed |
           walk->stack.failed | walk->skipped.failed;
}

/* text.blocks.walk: cut what is inside of an element into pieces. */
static void cut(Walk *walk, const Node *root, const Actions *actions)
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
                if (count_pieces(walk) > start && !walk->is_beside)
                    add_span(walk, node, start, kind);
                walk->stack.used -= sizeof around;
                memcpy(&around, walk->stack.bytes + walk->stack.used, sizeof around);
                kind = around.kind;
                start = around.start;
            }
        } else if (action == LINK) {
            links += starts ? 1 : -1;
        } else if (action == SPACE) {
            walk->line.pending = 1;
        } else if (action == SKIP && starts) {
            append(&walk->skipped, &node, sizeof node);
            is_skipped = 1;
        }
        const Node *inside = NULL;
        if (starts && node->type == ELEMENT && !is_skipped) {
            add_text(walk, node->children, links > 0);
            inside = next_in_tree(walk, node->children);
        }
        if (inside) {
            node = inside;
            starts = 1;
        } else if (starts && node->type == ELEMENT) {
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

/* The same of all that was skipped and can be seen. */
static void cut_beside(Walk *walk, const Actions *visible)
{
    size_t skipped = walk->skipped.used / sizeof(Node *);
    walk->is_beside = 1;
    for (size_t at = 0; at < skipped && !walk->is_odd && !walk->skipped.failed; at++) {
        const Node *node;
        memcpy(&node, walk->skipped.bytes + at * sizeof node, sizeof node);
        if (action_of(visible, node) != SKIP)
            cut(walk, node, visible);
    }
}

static PyObject *text_of(const Walk *walk, const Piece *piece)
{
    return PyUnicode_DecodeUTF8(walk->text.bytes + piece->start,
                                (Py_ssize_t)(piece->end - piece->start), NULL);
}

/* Append to a list, and give the object away. Returns whether that could be done. */
static int give(PyObject *list, PyObject *object)
{
    int failed = !object || PyList_Append(list, object);
    Py_XDECREF(object);
    return !failed;
}

static int give_span(const Walk *walk, PyObject *spans, const Span *span)
{
    const char *values[3];
    int any = 0;
    for (int at = 0; at < 3; at++) {
        values[at] = span->values[at] < 0 ? NULL : walk->values.bytes + span->values[at];
        any |= values[at] != NULL;
    }
    PyObject *names = any ? Py_BuildValue("zzzi", values[0], values[1], values[2], span->is_docbook)
                          : Py_NewRef(Py_None);
    return names && give(spans, Py_BuildValue("nniN", span->start, span->stop, span->kind, names));
}

/* What was found, as objects. No pointer into the tree is held any more. */
static PyObject *tell(const Walk *walk, Py_ssize_t inside)
{
    PyObject *pieces = PyList_New(0), *spans = PyList_New(0), *beside = PyList_New(0);
    int done = pieces && spans && beside;
    for (Py_ssize_t at = 0; done && at < count_pieces(walk); at++) {
        const Piece *piece = (const Piece *)(void *)walk->pieces.bytes + at;
        PyObject *text = text_of(walk, piece);
        if (at >= inside)
            done = give(beside, text);
        else
            done = text && give(pieces, Py_BuildValue("Nnni", text, piece->width, piece->linked,
                                                      piece->kind));
    }
    for (size_t at = 0; done && at < walk->spans.used / sizeof(Span); at++)
        done = give_span(walk, spans, (const Span *)(void *)walk->spans.bytes + at);
    if (done)
        return Py_BuildValue("NNN", pieces, spans, beside);
    Py_XDECREF(pieces);
    Py_XDECREF(spans);
    Py_XDECREF(beside);
    return NULL;
}

PyObject *core_walk(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *type, *root, *made = NULL;
    Py_buffer packed, packed_visible;
    Actions actions, visible;
    Walk walk;

    if (!PyArg_ParseTuple(arguments, "OOy*y*:walk", &type, &root, &packed, &packed_visible))
        return NULL;
    memset(&walk, 0, sizeof walk);
    if (!PyType_Check(type) || !PyObject_TypeCheck(root, (PyTypeObject *)type)) {
        PyErr_SetString(PyExc_TypeError, "no element");
    } else if (!read_actions(&actions, &packed) || !read_actions(&visible, &packed_visible)) {
        PyErr_SetString(PyExc_ValueError, "no actions");
    } else {
        const Node *node = ((Element *)root)->node;
        walk.is_odd = !node || node->type != ELEMENT || !node->document ||
                      node->document->type != HTML_DOCUMENT;
        if (!walk.is_odd)
            cut(&walk, node, &actions);
        Py_ssize_t inside = count_pieces(&walk);
        if (!walk.is_odd)
            cut_beside(&walk, &visible);
        if (has_failed(&walk))
            PyErr_NoMemory();
        else
            made = walk.is_odd ? Py_NewRef(Py_None) : tell(&walk, inside);
        if (!made && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
            PyErr_Clear();
            made = Py_NewRef(Py_None);
        }
    }
    PyMem_Free(walk.text.bytes);
    PyMem_Free(walk.pieces.bytes);
    PyMem_Free(walk.spans.bytes);
    PyMem_Free(walk.values.bytes);
    PyMem_Free(walk.stack.bytes);
    PyMem_Free(walk.skipped.bytes);
    PyBuffer_Release(&packed);
    PyBuffer_Release(&packed_visible);
    return made;
}
