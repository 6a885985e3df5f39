/* A list of texts as one text: item.says._texts. */

#include "line.h"

#include <stdlib.h>

typedef struct {
    const char *utf8;
    Py_ssize_t size, length; /* in bytes, and in characters */
} Text;

/* In the order of the characters, which is that of the bytes of UTF-8. */
static int compare(const void *one, const void *other)
{
    const Text *a = one, *b = other;
    int order = memcmp(a->utf8, b->utf8, (size_t)(a->size < b->size ? a->size : b->size));
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

/* Returns whether these are texts, each of which has UTF-8. */
static int read_texts(PyObject *values, Text *texts, Py_ssize_t count)
{
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *value = PyList_GetItem(values, at);
        Text *text = texts + at;
        text->utf8 =
            PyUnicode_CheckExact(value) ? PyUnicode_AsUTF8AndSize(value, &text->size) : NULL;
        if (!text->utf8) {
            PyErr_Clear();
            return 0;
        }
        text->length = PyUnicode_GetLength(value);
    }
    return 1;
}

/* Sort them, and leave out those that are there already. Returns how many are left. */
static Py_ssize_t sort_distinct(Text *texts, Py_ssize_t count)
{
    Py_ssize_t left = 1;
    qsort(texts, (size_t)count, sizeof *texts, compare);
    for (Py_ssize_t at = 1; at < count; at++)
        if (compare(texts + at, texts + left - 1))
            texts[left++] = texts[at];
    return left;
}

static void append_number(Buffer *written, Py_ssize_t number)
{
    char digits[24], *first = digits + sizeof digits;
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    append(written, first, (size_t)(digits + sizeof digits - first));
}

static void write_texts(Buffer *written, const Text *texts, Py_ssize_t count)
{
    append(written, "t(", 2);
    for (Py_ssize_t at = 0; at < count; at++) {
        if (at)
            append(written, ",", 1);
        append_number(written, texts[at].length);
    }
    append(written, ":", 1);
    for (Py_ssize_t at = 0; at < count; at++)
        append(written, texts[at].utf8, (size_t)texts[at].size);
    append(written, ")", 1);
}

PyObject *core_texts(PyObject *Py_UNUSED(module), PyObject *values)
{
    if (!PyList_Check(values)) {
        PyErr_SetString(PyExc_TypeError, "no list");
        return NULL;
    }
    Py_ssize_t count = PyList_Size(values);
    Text *texts = count ? PyMem_Calloc((size_t)count, sizeof *texts) : NULL;
    if (count && !texts)
        return PyErr_NoMemory();
    Buffer written = {0};
    PyObject *made = NULL;
    if (!count || !read_texts(values, texts, count)) {
        made = Py_NewRef(Py_None);
    } else {
        write_texts(&written, texts, sort_distinct(texts, count));
        made = written.failed
                   ? PyErr_NoMemory()
                   : PyUnicode_FromStringAndSize(written.bytes, (Py_ssize_t)written.used);
    }
    PyMem_Free(written.bytes);
    PyMem_Free(texts);
    return made;
}
