/* What a page says of itself beside its text: text.page_facts._marked_up.
 *
 * To make the object of an element Python runs. The walk goes on from that element, which its object
 * keeps, as lxml's own walks do.
 */

#include "line.h"
#include "node.h"

#define FACTORY "struct LxmlElement *(struct LxmlDocument *, xmlNode *)"

typedef PyObject *(*Factory)(PyObject *document, const Node *node);

/* Elements that were found, and how many more may be. */
typedef struct {
    PyObject *list;
    Py_ssize_t left;
} Elements;

/* What was found: texts that end with a NUL, two of each meta element and of each script; elements
 * that people read; and those with microdata. */
typedef struct {
    Buffer metas, scripts;
    Py_ssize_t left; /* meta elements and scripts that may be looked at */
    Elements written, items;
    PyObject *document;
    Factory factory;
    int is_odd, has_failed;
} Markup;

static void add_meta(Markup *markup, const Node *element)
{
    static const char *const names[] = {"property", "name", "http-equiv"};
    const char *name = NULL, *content = value_of(element, "content", &markup->is_odd);
    for (int at = 0; at < 3 && !(name && *name); at++)
        name = value_of(element, names[at], &markup->is_odd);
    if (name && *name && content && *content) {
        append(&markup->metas, name, strlen(name) + 1);
        append(&markup->metas, content, strlen(content) + 1);
    }
}

/* Add its type and its text, if it may be JSON-LD. */
static void add_script(Markup *markup, const Node *element)
{
    const char *type = value_of(element, "type", &markup->is_odd);
    if (!type || !strchr(type, '+'))
        return;
    append(&markup->scripts, type, strlen(type) + 1);
    for (const Node *node = element->children; node && !is_in_tree(node); node = node->next) {
        markup->is_odd |= !is_text(node);
        if (is_text(node) && node->content)
            append(&markup->scripts, node->content, strlen(node->content));
    }
    append(&markup->scripts, "", 1);
}

static void add_element(Markup *markup, Elements *elements, const Node *node)
{
    if (elements->left <= 0 || markup->has_failed)
        return;
    elements->left--;
    PyObject *object = markup->factory(markup->document, node);
    markup->has_failed = !object || PyList_Append(elements->list, object);
    Py_XDECREF(object);
}

static int has_items(const Node *element)
{
    const Node *attribute = element->attributes;
    while (attribute && (attribute->space || strcmp(attribute->name, "itemprop") != 0))
        attribute = attribute->next;
    return attribute != NULL;
}

static int is_written(const char *name)
{
    if (*name == 'h')
        return (name[1] == '1' || name[1] == '2') && !name[2];
    return *name == 't' && (!strcmp(name, "title") || !strcmp(name, "time"));
}

static void look_at(Markup *markup, const Node *element)
{
    int is_meta = !strcmp(element->name, "meta");
    if (markup->left > 0 && (is_meta || !strcmp(element->name, "script"))) {
        markup->left--;
        (is_meta ? add_meta : add_script)(markup, element);
    }
    if (is_written(element->name))
        add_element(markup, &markup->written, element);
    if (has_items(element))
        add_element(markup, &markup->items, element);
}

static void walk(Markup *markup, const Node *root)
{
    const Node *node = root;
    while (node && !markup->has_failed) {
        if (node->type == ELEMENT && node->name)
            look_at(markup, node);
        if (node->type == ELEMENT && node->children) {
            node = node->children;
            continue;
        }
        while (node && node != root && !node->next)
            node = node->parent;
        node = !node || node == root ? NULL : node->next;
    }
}

/* A list of pairs of texts. */
static PyObject *pairs_of(const Buffer *texts)
{
    const char *at = texts->bytes, *end = at + texts->used;
    PyObject *list = PyList_New(0);
    while (list && at < end) {
        const char *second = at + strlen(at) + 1;
        PyObject *pair = Py_BuildValue("ss", at, second);
        if (!pair || PyList_Append(list, pair))
            Py_CLEAR(list);
        Py_XDECREF(pair);
        at = second + strlen(second) + 1;
    }
    return list;
}

/* What was found, as objects. */
static PyObject *tell(const Markup *markup)
{
    if (markup->has_failed)
        return NULL;
    if (markup->is_odd)
        return Py_NewRef(Py_None);
    if (markup->metas.failed || markup->scripts.failed)
        return PyErr_NoMemory();
    PyObject *metas = pairs_of(&markup->metas), *scripts = metas ? pairs_of(&markup->scripts) : NULL;
    if (scripts)
        return Py_BuildValue("NNOO", metas, scripts, markup->written.list, markup->items.list);
    Py_XDECREF(metas);
    return NULL;
}

PyObject *core_markup(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *type, *root, *factory, *made = NULL;
    Markup markup = {0};

    if (!PyArg_ParseTuple(arguments, "OOOnn:markup", &type, &root, &factory, &markup.left,
                          &markup.items.left) ||
        !is_element(type, root))
        return NULL;
    const Node *node = node_of(root);
    if (!node || !PyCapsule_IsValid(factory, FACTORY))
        return Py_NewRef(Py_None);
    markup.factory = (Factory)PyCapsule_GetPointer(factory, FACTORY);
    markup.document = ((const Element *)(void *)root)->document;
    markup.written = (Elements){PyList_New(0), markup.left};
    markup.items.list = PyList_New(0);
    markup.has_failed = !markup.written.list || !markup.items.list;
    walk(&markup, node);
    made = left_to_the_pure_path(tell(&markup));
    PyMem_Free(markup.metas.bytes);
    PyMem_Free(markup.scripts.bytes);
    Py_XDECREF(markup.written.list);
    Py_XDECREF(markup.items.list);
    return made;
}
