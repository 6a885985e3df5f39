/* Rows of a label and a value, and what may stand alone behind a heading: text.page_facts._rows and
 * _leaves. */

#include "node.h"

#define MOST 4096  /* rows that are looked at */
#define BEHIND 100 /* elements that are looked at behind a heading */
#define STEPS 64   /* nodes of a cell that are searched for a text */

static const Node *element_from(const Node *node)
{
    while (node && node->type != XML_ELEMENT_NODE)
        node = node->next;
    return node;
}

static int is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F);
}

/* Whether a cell may have a text. */
static int may_have_text(const Node *cell)
{
    const Node *node = cell;
    for (int step = 0; node && step < STEPS; step++) {
        if (is_text(node) && node->content)
            for (const char *at = content_of(node); *at; at++)
                if (!is_space(*at))
                    return 1;
        if (node->type == XML_ELEMENT_NODE && node->children) {
            node = node->children;
            continue;
        }
        while (node && node != cell && !node->next)
            node = node->parent;
        node = !node || node == cell ? NULL : node->next;
        if (!node)
            return 0;
    }
    return 1;
}

/* The value of a row; NULL if the element is none. */
static const Node *value_in(const Node *row)
{
    if (is_called(row->name, "dt")) {
        const Node *value = element_from(row->next);
        return value && is_called(value->name, "dd") ? value : NULL;
    }
    int is_table = is_called(row->name, "tr");
    if (!is_table && !is_called(row->name, "div") && !is_called(row->name, "li") &&
        !is_called(row->name, "p"))
        return NULL;
    const Node *label = element_from(row->children);
    const Node *value = label ? element_from(label->next) : NULL;
    if (!value || element_from(value->next))
        return NULL;
    if (is_table)
        return is_called(value->name, "td") ? value : NULL;
    int is_plain = !element_from(label->children) && !element_from(value->children);
    int is_link = is_called(label->name, "a") || is_called(value->name, "a");
    return is_plain && !is_link ? value : NULL;
}

static const Node *label_in(const Node *row)
{
    return is_called(row->name, "dt") ? row : element_from(row->children);
}

/* Whether another value may follow. */
static int is_listed(const Node *value)
{
    return is_called(value->name, "dd");
}

/* A list with another object, which it takes; NULL with an error set where there is no memory. */
static PyObject *added(PyObject *list, PyObject *object)
{
    if (!object || PyList_Append(list, object))
        Py_CLEAR(list);
    Py_XDECREF(object);
    return list;
}

static PyObject *find_rows(PyObject *root, const Node *start, ElementFactory factory)
{
    struct LxmlDocument *document = ((const struct LxmlElement *)(void *)root)->_doc;
    PyObject *rows = PyList_New(0);
    const Node *node = start, *value;
    int left = MOST;

    while (rows && node && left) {
        if (node->type == XML_ELEMENT_NODE && node->name && (value = value_in(node))) {
            left--;
            if (may_have_text(label_in(node)) && (may_have_text(value) || is_listed(value)))
                rows = added(rows, factory(document, (Node *)node));
        }
        if (node->type == XML_ELEMENT_NODE && node->children) {
            node = node->children;
            continue;
        }
        while (node && node != start && !node->next)
            node = node->parent;
        node = !node || node == start ? NULL : node->next;
    }
    return rows;
}

/* Whether an element has no child, and a text that may have a digit: of ASCII, or some other. */
static int may_be_alone(const Node *element)
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

static PyObject *find_leaves(PyObject *heading, const Node *start, ElementFactory factory)
{
    struct LxmlDocument *document = ((const struct LxmlElement *)(void *)heading)->_doc;
    PyObject *leaves = PyList_New(0);
    const Node *node = start, *inside = NULL;

    for (int left = BEHIND; leaves && left;) {
        while (!inside && node && !node->next)
            node = node->parent;
        if (!node)
            break;
        node = inside ? inside : node->next;
        inside = node->type == XML_ELEMENT_NODE ? node->children : NULL;
        if (node->type != XML_ELEMENT_NODE)
            continue;
        left--;
        if (may_be_alone(node))
            leaves = added(leaves, factory(document, (Node *)node));
    }
    return leaves;
}

typedef PyObject *Find(PyObject *element, const Node *node, ElementFactory factory);

/* What is found from an element on; None if lxml has another layout. */
static PyObject *found_from(PyObject *element, Find *find)
{
    if (!is_element(element))
        return NULL;
    const Node *node = node_of(element);
    ElementFactory factory = (ElementFactory)lxml_function("elementFactory", ELEMENT_FACTORY);
    if (!factory)
        return NULL;
    return node ? find(element, node, factory) : Py_NewRef(Py_None);
}

PyObject *core_leaves(PyObject *Py_UNUSED(module), PyObject *heading)
{
    return found_from(heading, find_leaves);
}

PyObject *core_rows(PyObject *Py_UNUSED(module), PyObject *root)
{
    return found_from(root, find_rows);
}
