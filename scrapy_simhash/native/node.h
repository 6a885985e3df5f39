/* The trees of libxml2 and lxml, by the headers that lxml ships. lxml.c checks that the lxml in use
 * lays them out in the same way. No function of libxml2 is called, and of lxml only public ones.
 */

#ifndef SCRAPY_SIMHASH_NODE_H
#define SCRAPY_SIMHASH_NODE_H

#include "core.h"

#define XML_TREE_INTERNALS /* the parser is not needed */
#include <libxml/tree.h>
#include <lxml.etree.h>

typedef xmlNode Node;

/* Signatures, by which lxml names the capsules of its functions. */
#define ELEMENT_FACTORY "struct LxmlElement *(struct LxmlDocument *, xmlNode *)"
typedef PyObject *(*ElementFactory)(struct LxmlDocument *, xmlNode *);

/* A public function of lxml; NULL with an error set where it has none of that signature. */
void *lxml_function(const char *name, const char *signature);

/* Whether an object is an element of lxml. If not, an error is set. */
int is_element(PyObject *object);

/* The node of an element; NULL if it does not belong to an HTML document. */
static inline const Node *node_of(PyObject *element)
{
    const Node *node = ((const struct LxmlElement *)(void *)element)->_c_node;
    int is_html = node && node->type == XML_ELEMENT_NODE && node->doc &&
                  node->doc->type == XML_HTML_DOCUMENT_NODE;
    return is_html ? node : NULL;
}

static inline const char *name_of(const Node *node)
{
    return (const char *)node->name;
}

static inline const char *content_of(const Node *node)
{
    return (const char *)node->content;
}

/* Whether lxml has an object for it. Text is an attribute of these objects. */
static inline int is_in_tree(const Node *node)
{
    return node->type == XML_ELEMENT_NODE || node->type == XML_COMMENT_NODE ||
           node->type == XML_PI_NODE;
}

static inline int is_text(const Node *node)
{
    return node->type == XML_TEXT_NODE || node->type == XML_CDATA_SECTION_NODE;
}

static inline int is_called(const xmlChar *name, const char *other)
{
    return *name == (xmlChar)*other && !strcmp((const char *)name, other);
}

static inline const xmlAttr *attribute_of(const Node *element, const char *name)
{
    const xmlAttr *attribute = element->properties;
    while (attribute && (attribute->ns || !is_called(attribute->name, name)))
        attribute = attribute->next;
    return attribute;
}

/* The value of an attribute; NULL where there is none. *is_odd: set if it is not plain text. */
static inline const char *value_of(const Node *element, const char *name, int *is_odd)
{
    const xmlAttr *attribute = attribute_of(element, name);
    const Node *value = attribute ? attribute->children : NULL;
    if (!value)
        return attribute ? "" : NULL;
    if (value->next || value->type != XML_TEXT_NODE || !value->content) {
        *is_odd = 1;
        return "";
    }
    return content_of(value);
}

#endif
