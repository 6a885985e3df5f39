/* What a page says of itself beside its text: text.page_facts._marked_up. */

#include "line.h"
#include "node.h"

/* What was found, as texts that end with a NUL: two of each meta element, one of each script. */
typedef struct {
    Buffer metas, scripts;
    Py_ssize_t left; /* of those that may be looked at */
    int has_items, is_odd;
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

static void look_at(Markup *markup, const Node *element)
{
    int is_meta = !strcmp(element->name, "meta");
    const Node *attribute = element->attributes;
    if (markup->left > 0 && (is_meta || !strcmp(element->name, "script"))) {
        markup->left--;
        (is_meta ? add_meta : add_script)(markup, element);
    }
    for (; attribute && !markup->has_items; attribute = attribute->next)
        markup->has_items = !attribute->space && !strcmp(attribute->name, "itemprop");
}

static void walk(Markup *markup, const Node *root)
{
    const Node *node = root;
    while (node) {
        if (node->type == ELEMENT && node->name)
            look_at(markup, node);
        if (node->type == ELEMENT && node->children) {
            node = node->children;
            continue;
        }
        while (node != root && !node->next)
            node = node->parent;
        node = node == root ? NULL : node->next;
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

/* What was found, as objects. No pointer into the tree is held any more. */
static PyObject *tell(const Markup *markup)
{
    if (markup->is_odd)
        return Py_NewRef(Py_None);
    if (markup->metas.failed || markup->scripts.failed)
        return PyErr_NoMemory();
    PyObject *metas = pairs_of(&markup->metas), *scripts = metas ? pairs_of(&markup->scripts) : NULL;
    if (scripts)
        return Py_BuildValue("NNO", metas, scripts, markup->has_items ? Py_True : Py_False);
    Py_XDECREF(metas);
    return NULL;
}

PyObject *core_markup(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *type, *root, *made = NULL;
    Markup markup = {0};

    if (!PyArg_ParseTuple(arguments, "OOn:markup", &type, &root, &markup.left))
        return NULL;
    if (is_element(type, root)) {
        const Node *node = node_of(root);
        if (node)
            walk(&markup, node);
        markup.is_odd |= !node;
        made = left_to_the_pure_path(tell(&markup));
        PyMem_Free(markup.metas.bytes);
        PyMem_Free(markup.scripts.bytes);
    }
    return made;
}
