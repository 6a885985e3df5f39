/* Shared by the files of the compiled core. It uses the stable ABI, so that one build works with
 * each version of Python from 3.11 on.
 */

#ifndef SCRAPY_SIMHASH_CORE_H
#define SCRAPY_SIMHASH_CORE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The GIL is released from this number of characters or hashes on, some ten microseconds. */
#define LONG 8192

/* A place in UTF-8. */
typedef const unsigned char *At;

/* A buffer that grows; it may be used without the GIL. Failure is remembered, so that one check at the
 * end is enough. */
typedef struct {
    char *bytes;
    size_t used, room;
    int failed;
} Buffer;

/* Make room for more bytes. Returns whether that worked. */
int grow(Buffer *buffer, size_t size);

static inline void append(Buffer *buffer, const void *bytes, size_t size)
{
    if (buffer->room - buffer->used < size && !grow(buffer, size))
        return;
    memcpy(buffer->bytes + buffer->used, bytes, size);
    buffer->used += size;
}

/* Read a character and go behind it; anything for invalid UTF-8. */
static inline uint32_t read_character(At *at, At end)
{
    uint32_t character = *(*at)++;
    int further = character < 0xC0 ? 0 : character < 0xE0 ? 1 : character < 0xF0 ? 2 : 3;

    if (end - *at < further)
        further = 0;
    character &= further ? 0x3Fu >> further : 0xFFu;
    for (; further > 0; further--)
        character = character << 6 | (*(*at)++ & 0x3F);
    return character;
}

/* As in features/shingles.py. */
static inline uint64_t mix64(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
}

/* The argument; None, to leave it to Python, after an error for invalid UTF-8. */
PyObject *left_to_python(PyObject *made);

PyObject *core_changes(PyObject *module, PyObject *arguments);
PyObject *core_tokens(PyObject *module, PyObject *arguments);
PyObject *core_sketches(PyObject *module, PyObject *arguments);
PyObject *core_minhash(PyObject *module, PyObject *arguments);
PyObject *core_knows(PyObject *module, PyObject *element);
PyObject *core_page(PyObject *module, PyObject *arguments);
PyObject *core_elements(PyObject *module, PyObject *arguments);
PyObject *core_leaves(PyObject *module, PyObject *heading);
PyObject *core_bands(PyObject *module, PyObject *arguments);
PyObject *core_common(PyObject *module, PyObject *arguments);
PyObject *core_compare(PyObject *module, PyObject *arguments);

#endif
