/* What of the trees of libxml2 and lxml is read: the first fields of their structures, which have
 * not changed since libxml2 2.0 and lxml 5. Of their functions only lxml's public elementFactory is
 * called, which gives the object of an element.
 */

#ifndef SCRAPY_SIMHASH_NODE_H
#define SCRAPY_SIMHASH_NODE_H

#include "core.h"

#include <string.h>

enum { ELEMENT = 1, TEXT = 3, CDATA = 4, PI = 7, COMMENT = 8, HTML_DOCUMENT = 13 };

typedef struct node {
    void *private;
    int type;
    const char *name;
    struct node *children, *last, *parent, *next, *prev, *document;
    void *space;
    const char *content;     /* of an element or a text */
    struct node *attributes; /* of an element; each of them begins as a node does */
} Node;

/* An object of lxml's class of elements. */
typedef struct {
    PyObject_HEAD
    PyObject *document;
    const Node *node;
    PyObject *tag;
} Element;

/* Its node; NULL if it is none of an HTML document. */
static inline const Node *node_of(PyObject *element)
{
    const Node *node = ((const Element *)(void *)element)->node;
    int is_html = node && node->type == ELEMENT && node->document &&
                  node->document->type == HTML_DOCUMENT;
    return is_html ? node : NULL;
}

/* Whether it is in lxml's tree, where text hangs on these. */
static inline int is_in_tree(const Node *node)
{
    return node->type == ELEMENT || node->type == COMMENT || node->type == PI;
}

static inline int is_text(const Node *node)
{
    return node->type == TEXT || node->type == CDATA;
}

/* The value of an attribute; NULL where there is none. *is_odd: set if it is not plain text. */
static inline const char *value_of(const Node *element, const char *name, int *is_odd)
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
        *is_odd = 1;
        return "";
    }
    return value->content;
}

#endif
