/* What is asked of lxml, and whether its trees are laid out as in the headers. */

#include "node.h"

#define CHILD "xmlNode *(xmlNode *, Py_ssize_t)"
#define DOCUMENT_OR_RAISE "struct LxmlDocument *(PyObject *)"

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
