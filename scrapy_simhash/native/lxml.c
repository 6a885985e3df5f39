/* What is asked of lxml, whether its trees are laid out as in the headers, and the elements of a page
 * that may hold facts, which Python reads: text.markup._find_elements, and text.page_facts._leaves.
 *
 * Making the object of an element runs Python. The object keeps the element alive, from which the
 * walk goes on, as lxml's own walks do.
 */

#include "node.h"

#define CHILD "xmlNode *(xmlNode *, Py_ssize_t)"
#define DOCUMENT_OR_RAISE "struct LxmlDocument *(PyObject *)"

#define BEHIND 100 /* elements that are looked at behind a heading */

static PyObject *lxml_attribute(const char *name)
{
    PyObject *etree = PyImport_ImportModule("lxml.etree");
    PyObject *found = etree ? PyObject_GetAttrString(etree, name) : NULL;
    Py_XDECREF(etree);
    return found;
}

void *lxml_function(const char *name, const char *signature)
{
    PyObject *functions = lxml_attribute("__pyx_capi__");
    PyObject *capsule = functions ? PyMapping_GetItemString(functions, name) : NULL;
    void *function = capsule ? PyCapsule_GetPointer(capsule, signature) : NULL;
    Py_XDECREF(capsule);
    Py_XDECREF(functions);
    return function;
}

int is_element(PyObject *object)
{
    PyObject *type = lxml_attribute("_Element");
    int is_one = type && PyType_Check(type) && PyObject_TypeCheck(object, (PyTypeObject *)type);
    if (type && !is_one)
        PyErr_SetString(PyExc_TypeError, "not an element of lxml");
    Py_XDECREF(type);
    return is_one;
}

/* Whether the object of an element is as large as the headers say, and its document where they say.
 * Returns -1 with an error set. */
static int is_object_known(PyObject *element)
{
    typedef PyObject *(*DocumentOrRaise)(PyObject *);
    DocumentOrRaise document_of =
        (DocumentOrRaise)lxml_function("documentOrRaise", DOCUMENT_OR_RAISE);
    PyObject *type = document_of ? lxml_attribute("_Element") : NULL;
    PyObject *size = type ? PyObject_GetAttrString(type, "__basicsize__") : NULL;
    PyObject *document = size ? document_of(element) : NULL;
    int is_known = -1;
    if (document)
        is_known = PyLong_AsSize_t(size) == sizeof(struct LxmlElement) &&
                   ((struct LxmlElement *)(void *)element)->_doc == (void *)document;
    Py_XDECREF(document);
    Py_XDECREF(size);
    Py_XDECREF(type);
    return is_known;
}

static int is_node_known(const Node *node, const Node *parent, const Node *prev, const Node *next)
{
    return node->type == XML_ELEMENT_NODE && node->parent == parent && node->prev == prev &&
           node->next == next && node->doc == parent->doc && !node->ns && !node->content;
}

/* Whether the nodes of <p><i></i><b id="c">d</b></p> are where the headers say, in the fields where
 * they say. No pointer is followed before it, or a field behind it in the structure, was compared
 * with what lxml returns. */
static int is_tree_known(const Node *p, const Node *i, const Node *b, const xmlDoc *document)
{
    if (p->type != XML_ELEMENT_NODE || p->doc != document || p->children != i || p->last != b ||
        !is_node_known(i, p, NULL, b) || !is_node_known(b, p, i, NULL))
        return 0;
    const xmlAttr *id = b->properties;
    if (i->children || i->properties || !id || !is_called(i->name, "i") || !b->children)
        return 0;
    if (id->type != XML_ATTRIBUTE_NODE || id->parent != b || id->doc != document || id->next ||
        id->prev || id->ns || id->children != id->last || !id->children)
        return 0;
    const Node *texts[] = {b->children, id->children}, *parents[] = {b, (const Node *)(void *)id};
    for (int at = 0; at < 2; at++)
        if (texts[at]->type != XML_TEXT_NODE || texts[at]->parent != parents[at] ||
            texts[at]->next || texts[at]->ns || !texts[at]->content)
            return 0;
    return is_called(id->name, "id") && is_called(texts[0]->content, "d") &&
           is_called(texts[1]->content, "c");
}

PyObject *core_knows(PyObject *Py_UNUSED(module), PyObject *element)
{
    typedef Node *(*Child)(Node *, Py_ssize_t);

    if (!is_element(element))
        return NULL;
    int is_known = is_object_known(element);
    if (is_known < 0)
        return NULL;
    Child first = (Child)lxml_function("findChildForwards", CHILD);
    Child last = first ? (Child)lxml_function("findChildBackwards", CHILD) : NULL;
    if (!last)
        return NULL;
    const struct LxmlElement *object = (const struct LxmlElement *)(void *)element;
    Node *p = is_known ? object->_c_node : NULL;
    Node *i = p ? first(p, 0) : NULL, *b = p ? last(p, 0) : NULL;
    is_known = i && b && i != b && is_tree_known(p, i, b, object->_doc->_c_doc);
    return PyBool_FromLong(is_known);
}

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
    return is_named(value, label == row ? "dd" : "td") && (label == row || !element_from(value->next));
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
    return is_named(element, "article") || is_named(element, "h1") || is_named(element, "time") ||
           is_named(element, "title");
}

/* Whether an element has no child, and a text that may have a digit, of ASCII or some other, or a
 * colon, which follows the digits. */
static int may_be_alone(const Node *element, const char *Py_UNUSED(names))
{
    int has_digit = 0;
    for (const Node *node = element->children; node; node = node->next) {
        if (is_in_tree(node))
            return 0;
        if (is_text(node) && node->content)
            for (const char *at = content_of(node); *at && !has_digit; at++)
                has_digit = (*at >= '0' && *at <= ':') || (unsigned char)*at >= 0x80;
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
