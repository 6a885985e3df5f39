/* The elements of a page that may hold facts, which Python reads: text.markup._find_elements, and
 * text.page_facts._leaves.
 *
 * Making the object of an element runs Python. The object keeps the element alive, from which the
 * walk goes on, as lxml's own walks do.
 */

#include "node.h"

#define BEHIND 100 /* elements that are looked at behind a heading */

/* A test of an element, given names that end with a NUL each, the last one being empty. */
typedef int Test(const Node *element, const char *names);

static int is_one_of(const char *name, const char *names)
{
    while (*names && strcmp(name, names) != 0)
        names += strlen(names) + 1;
    return *names != 0;
}

static const Node *element_from(const Node *node)
{
    while (node && node->type != XML_ELEMENT_NODE)
        node = node->next;
    return node;
}

static int is_named(const Node *element, const char *name)
{
    return element && element->name && is_called(element->name, name);
}

/* Whether an element is a row of two cells, or a label with a value. */
static int is_row(const Node *row)
{
    const Node *label = is_named(row, "dt") ? row : element_from(row->children);
    const Node *value = label ? element_from(label->next) : NULL;
    if (label == row)
        return is_named(value, "dd");
    return is_named(value, "td") && !element_from(value->next);
}

/* `names`: those of meta elements. What is no plain text is left to Python. */
static int may_hold_facts(const Node *element, const char *names)
{
    int is_odd = 0;
    if (attribute_of(element, "itemprop"))
        return 1;
    if (is_named(element, "meta")) {
        const char *name = value_of(element, "property", &is_odd);
        name = name && *name ? name : value_of(element, "name", &is_odd);
        return is_odd || (name && is_one_of(name, names));
    }
    if (is_named(element, "script")) {
        const char *type = value_of(element, "type", &is_odd);
        return is_odd || (type && strchr(type, '+'));
    }
    if (is_named(element, "tr") || is_named(element, "dt"))
        return is_row(element);
    return element->name && is_one_of(name_of(element), "article\0h1\0time\0title\0");
}

/* Whether an element has no child, and a text that may have a digit: of ASCII, or some other. */
static int may_be_alone(const Node *element, const char *Py_UNUSED(names))
{
    int has_digit = 0;
    for (const Node *node = element->children; node; node = node->next) {
        if (is_in_tree(node))
            return 0;
        if (is_text(node) && node->content)
            for (const char *at = content_of(node); *at && !has_digit; at++)
                has_digit = (*at >= '0' && *at <= '9') || (unsigned char)*at >= 0x80;
    }
    return has_digit;
}

/* Up to `most` elements that a test chooses among up to `left` of them: inside an element, which
 * comes first, or, with `behind`, all that begin behind it. */
static PyObject *chosen(PyObject *element, Test *test, const char *names, Py_ssize_t most,
                        Py_ssize_t left, int behind)
{
    if (!is_element(element))
        return NULL;
    const Node *start = node_of(element), *node = start, *inside;
    struct LxmlDocument *document = ((const struct LxmlElement *)(void *)element)->_doc;
    ElementFactory factory = (ElementFactory)lxml_function("elementFactory", ELEMENT_FACTORY);
    if (!start || !factory)
        return factory ? Py_NewRef(Py_None) : NULL;
    PyObject *found = PyList_New(0);

    while (found && node && most && left) {
        int is_one = node->type == XML_ELEMENT_NODE && !(behind && node == start);
        if (is_one && left-- && test(node, names)) {
            PyObject *object = factory(document, (Node *)node);
            if (!object || PyList_Append(found, object))
                Py_CLEAR(found);
            Py_XDECREF(object);
            most--;
        }
        inside = is_one ? node->children : NULL;
        while (!inside && node && (behind || node != start) && !node->next)
            node = node->parent;
        node = inside ? inside : !node || (node == start && !behind) ? NULL : node->next;
    }
    return found;
}

PyObject *core_elements(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *root, *given;
    char *names;
    Py_ssize_t most, size;

    if (!PyArg_ParseTuple(arguments, "OSn:elements", &root, &given, &most)
        || PyBytes_AsStringAndSize(given, &names, &size))
        return NULL;
    /* Python ends bytes with another NUL. */
    if (most < 0 || (size && names[size - 1])) {
        PyErr_SetString(PyExc_ValueError, "a limit is negative, or a name has no end");
        return NULL;
    }
    return chosen(root, may_hold_facts, names, most, PY_SSIZE_T_MAX, 0);
}

PyObject *core_leaves(PyObject *Py_UNUSED(module), PyObject *heading)
{
    return chosen(heading, may_be_alone, "", BEHIND, BEHIND, 1);
}
