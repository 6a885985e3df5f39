/* Markup that may hold facts of a page: text.markup.read_markup.
 *
 * Making the object of an element runs Python. The object keeps the element alive, from which the
 * walk goes on, as lxml's own walks do.
 */

#include "node.h"
#include "tree.h"

/* Bytes of an itemprop; a longer one is left to Python. */
#define NAMES 256

#define MOST_READ (1 << 28)

/* The kinds of names. */
enum { OF_META = 1, OF_ITEM = 2 };

/* How many more elements may be looked at. */
typedef struct {
    Py_ssize_t programs, written, headings, others, times, items;
} Left;

/* The results. Texts end with a NUL: two for each meta element and script, one for others. */
typedef struct {
    Buffer metas, scripts, title, headings, others;
    PyObject *elements, *items; /* headings, and elements with microdata */
    Left left;
    Py_ssize_t events, read, times; /* of a text: steps and characters; of the page */
    Table names, actions;
    struct LxmlDocument *document;
    ElementFactory factory;
    int is_odd, has_failed;
} Markup;

static int is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F);
}

/* Whether a name, or one between white space in it, may be of that kind. Python decides for names
 * that are not ASCII. */
static int is_looked_at(const Table *table, const char *names, int as)
{
    char lower[NAMES];
    unsigned hash = 0;
    size_t length = 0;

    for (size_t at = 0; at < NAMES; at++) {
        char c = names[at];
        if ((unsigned char)c >= 0x80)
            return 1;
        if (c && !(as == OF_ITEM && is_space(c))) {
            lower[length] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
            hash = next_hash(hash, lower[length++]);
            continue;
        }
        unsigned slot = slot_of(table, lower, length, hash);
        if (length && table->lengths[slot] && table->numbers[slot] & as)
            return 1;
        if (!c)
            return 0;
        hash = 0, length = 0;
    }
    return 1;
}

static void add_meta(Markup *markup, const Node *element)
{
    static const char *const names[] = {"property", "name", "http-equiv"};
    const char *name = NULL;
    for (int at = 0; at < 3 && !(name && *name); at++)
        name = value_of(element, names[at], &markup->is_odd);
    if (!name || !*name || !is_looked_at(&markup->names, name, OF_META))
        return;
    const char *content = value_of(element, "content", &markup->is_odd);
    if (content && *content) {
        append(&markup->metas, name, strlen(name) + 1);
        append(&markup->metas, content, strlen(content) + 1);
    }
}

/* Add type and text of a script that may be JSON-LD. */
static void add_script(Markup *markup, const Node *element)
{
    const char *type = value_of(element, "type", &markup->is_odd);
    if (!type || !strchr(type, '+'))
        return;
    append(&markup->scripts, type, strlen(type) + 1);
    for (const Node *node = element->children; node && !is_in_tree(node); node = node->next) {
        markup->is_odd |= !is_text(node);
        if (is_text(node) && node->content)
            append(&markup->scripts, node->content, strlen(content_of(node)));
    }
    append(&markup->scripts, "", 1);
}

static void add_element(Markup *markup, PyObject *list, const Node *node)
{
    PyObject *object = markup->has_failed ? NULL : markup->factory(markup->document, (Node *)node);
    markup->has_failed |= !object || PyList_Append(list, object);
    Py_XDECREF(object);
}

/* Add the text that begins with a node, up to a length. Returns the first node from there on that
 * lxml has an object for. */
static const Node *add_text(Markup *markup, Buffer *text, size_t end, const Node *node)
{
    for (; node && !is_in_tree(node); node = node->next) {
        markup->is_odd |= !is_text(node);
        if (!is_text(node) || !node->content || text->used >= end)
            continue;
        size_t size = strlen(content_of(node)), room = end - text->used;
        if (size > room) /* no character is cut in two */
            for (size = room; size && (node->content[size] & 0xC0) == 0x80;)
                size--;
        append(text, node->content, size);
    }
    return node;
}

/* Add the text of an element: text.markup.text_of, but possibly longer. */
static void add_said(Markup *markup, Buffer *text, const Node *element)
{
    /* A character has four bytes at most. */
    size_t end = text->used + 4 * (size_t)markup->read;
    const Node *node = element, *child = element->children;
    int starts = 1;

    while (child && !is_in_tree(child))
        child = child->next;
    for (Py_ssize_t event = 0; event < markup->events && text->used < end; event++) {
        int is_tag = node->type == XML_ELEMENT_NODE;
        int action = is_tag ? action_of_tag(&markup->actions, name_of(node)) : INLINE;
        const Node *inside = NULL;
        if (child && (action >= BLOCK || action == SPACE))
            append(text, " ", 1);
        if (starts && node->type == XML_ELEMENT_NODE && action != SKIP)
            inside = add_text(markup, text, end, node->children);
        if (inside) {
            node = inside;
        } else if (starts && node->type == XML_ELEMENT_NODE) {
            starts = 0; /* its end comes next */
        } else if (node == element) {
            break;
        } else {
            const Node *beside = add_text(markup, text, end, node->next);
            starts = beside != NULL;
            node = beside ? beside : node->parent;
        }
    }
    append(text, "", 1);
}

/* Whether a title is that of the page, not of a drawing in it. */
static int is_of_page(Markup *markup, const Node *title)
{
    const Node *parent = title->parent;
    if (!parent || parent->type != XML_ELEMENT_NODE || !parent->name)
        return 1;
    markup->is_odd |= parent->ns != NULL;
    return is_called(parent->name, "head") || is_called(parent->name, "html") ||
           is_called(parent->name, "body");
}

static int is_left(Py_ssize_t *left)
{
    return *left > 0 && (*left)--;
}

static void add_written(Markup *markup, const Node *element)
{
    const xmlChar *name = element->name;
    if (is_called(name, "h1")) {
        if (is_left(&markup->left.headings)) {
            add_said(markup, &markup->headings, element);
            add_element(markup, markup->elements, element);
        }
    } else if (is_called(name, "h2")) {
        if (is_left(&markup->left.others))
            add_said(markup, &markup->others, element);
    } else if (is_called(name, "time")) {
        markup->times += is_left(&markup->left.times);
    } else if (!markup->title.used && is_of_page(markup, element)) {
        add_said(markup, &markup->title, element);
    }
}

static int is_written(const xmlChar *name)
{
    if (*name == 'h')
        return (name[1] == '1' || name[1] == '2') && !name[2];
    return is_called(name, "title") || is_called(name, "time");
}

static void look_at(Markup *markup, const Node *element)
{
    int is_meta = is_called(element->name, "meta");
    if ((is_meta || is_called(element->name, "script")) && is_left(&markup->left.programs))
        (is_meta ? add_meta : add_script)(markup, element);
    if (is_written(element->name) && is_left(&markup->left.written))
        add_written(markup, element);
    if (attribute_of(element, "itemprop") && is_left(&markup->left.items) &&
        is_looked_at(&markup->names, value_of(element, "itemprop", &markup->is_odd), OF_ITEM))
        add_element(markup, markup->items, element);
}

static void walk(Markup *markup, const Node *root)
{
    const Node *node = root;
    while (node && !markup->has_failed) {
        if (node->type == XML_ELEMENT_NODE && node->name)
            look_at(markup, node);
        if (node->type == XML_ELEMENT_NODE && node->children) {
            node = node->children;
            continue;
        }
        while (node && node != root && !node->next)
            node = node->parent;
        node = !node || node == root ? NULL : node->next;
    }
}

/* A list of texts. */
static PyObject *list_of(const Buffer *texts)
{
    PyObject *list = PyList_New(0);
    for (size_t at = 0; list && at < texts->used; at += strlen(texts->bytes + at) + 1) {
        PyObject *text = PyUnicode_FromString(texts->bytes + at);
        if (!text || PyList_Append(list, text))
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

/* The results as objects. */
static PyObject *tell(const Markup *markup)
{
    const Buffer *texts[] = {&markup->metas, &markup->scripts, &markup->title, &markup->headings,
                             &markup->others};
    PyObject *lists[5] = {NULL}, *made = NULL;
    int count = 0;

    if (markup->has_failed)
        return NULL;
    if (markup->is_odd)
        return Py_NewRef(Py_None);
    for (int at = 0; at < 5; at++)
        if (texts[at]->failed)
            return PyErr_NoMemory();
    while (count < 5 && (lists[count] = list_of(texts[count])))
        count++;
    if (count == 5)
        made = Py_BuildValue("OOOOOOnO", lists[0], lists[1], lists[2], lists[3], markup->elements,
                             lists[4], markup->times, markup->items);
    while (count--)
        Py_DECREF(lists[count]);
    return made;
}

static PyObject *read_markup(Markup *markup, const Node *root)
{
    markup->elements = PyList_New(0);
    markup->items = PyList_New(0);
    markup->has_failed = !markup->elements || !markup->items;
    walk(markup, root);
    PyObject *made = left_to_python(tell(markup));
    PyMem_Free(markup->metas.bytes);
    PyMem_Free(markup->scripts.bytes);
    PyMem_Free(markup->title.bytes);
    PyMem_Free(markup->headings.bytes);
    PyMem_Free(markup->others.bytes);
    Py_XDECREF(markup->elements);
    Py_XDECREF(markup->items);
    return made;
}

PyObject *core_markup(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *root, *made = NULL;
    Py_buffer names, actions;
    Py_ssize_t elements, headings, marked_up;
    Markup markup = {0};

    if (!PyArg_ParseTuple(arguments, "O(y*y*)(nnnnn):markup", &root, &names,
                          &actions, &elements, &headings, &marked_up, &markup.read,
                          &markup.events))
        return NULL;
    if (!read_table(&markup.names, &names) || !read_table(&markup.actions, &actions)) {
        PyErr_SetString(PyExc_ValueError, "not a table of names");
    } else if (elements < 0 || headings < 0 || marked_up < 0 || markup.read < 0 ||
               markup.events < 0 || markup.read > MOST_READ) {
        PyErr_SetString(PyExc_ValueError, "a limit is negative, or too large");
    } else if (is_element(root)) {
        const Node *node = node_of(root);
        markup.left = (Left){elements, elements, headings, headings, marked_up, marked_up};
        markup.document = ((const struct LxmlElement *)(void *)root)->_doc;
        markup.factory = (ElementFactory)lxml_function("elementFactory", ELEMENT_FACTORY);
        if (!node && markup.factory)
            made = Py_NewRef(Py_None);
        else if (markup.factory)
            made = read_markup(&markup, node);
    }
    PyBuffer_Release(&names);
    PyBuffer_Release(&actions);
    return made;
}
