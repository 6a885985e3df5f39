/* Rows of a label and a value: text.page_facts._rows. */

#include "node.h"

#define MOST 4096  /* rows that are looked at */
#define STEPS 64   /* nodes of a value that are searched for a digit */

static const Node *element_from(const Node *node)
{
    while (node && node->type != XML_ELEMENT_NODE)
        node = node->next;
    return node;
}

/* Whether a value may have a digit: of ASCII, or some other character. */
static int may_have_digit(const Node *value)
{
    const Node *node = value;
    for (int step = 0; node && step < STEPS; step++) {
        if (is_text(node) && node->content)
            for (const char *at = content_of(node); *at; at++)
                if ((*at >= '0' && *at <= '9') || (unsigned char)*at >= 0x80)
                    return 1;
        if (node->type == XML_ELEMENT_NODE && node->children) {
            node = node->children;
            continue;
        }
        while (node && node != value && !node->next)
            node = node->parent;
        node = !node || node == value ? NULL : node->next;
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

static PyObject *find_rows(PyObject *root, const Node *start, ElementFactory factory)
{
    struct LxmlDocument *document = ((const struct LxmlElement *)(void *)root)->_doc;
    PyObject *rows = PyList_New(0);
    const Node *node = start, *value;
    int left = MOST;

    while (rows && node && left) {
        if (node->type == XML_ELEMENT_NODE && node->name && (value = value_in(node))) {
            left--;
            if (may_have_digit(value)) {
                PyObject *row = factory(document, (Node *)node);
                if (!row || PyList_Append(rows, row))
                    Py_CLEAR(rows);
                Py_XDECREF(row);
            }
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

PyObject *core_rows(PyObject *Py_UNUSED(module), PyObject *root)
{
    if (!is_element(root))
        return NULL;
    const Node *node = node_of(root);
    ElementFactory factory = (ElementFactory)lxml_function("elementFactory", ELEMENT_FACTORY);
    if (!factory)
        return NULL;
    return node ? find_rows(root, node, factory) : Py_NewRef(Py_None);
}
