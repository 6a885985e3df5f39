/* What the parts of the compiled core share. Only what Python keeps stable is used, so that one
 * build serves each version from 3.11 on.
 */

#ifndef SCRAPY_SIMHASH_CORE_H
#define SCRAPY_SIMHASH_CORE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <stdint.h>

/* From so many characters or hashes on, others may run meanwhile: it is some ten microseconds. */
#define LONG 8192

/* As in features/mixing.py. */
static inline uint64_t mix64(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
}

/* What was made; None, for the pure path, if there was text that is not valid UTF-8. */
PyObject *left_to_the_pure_path(PyObject *made);

PyObject *core_shingles(PyObject *module, PyObject *arguments);
PyObject *core_tokens(PyObject *module, PyObject *arguments);
PyObject *core_majority(PyObject *module, PyObject *arguments);
PyObject *core_minhash(PyObject *module, PyObject *arguments);
PyObject *core_knows(PyObject *module, PyObject *element);
PyObject *core_page(PyObject *module, PyObject *arguments);
PyObject *core_body(PyObject *module, PyObject *arguments);
PyObject *core_markup(PyObject *module, PyObject *arguments);
PyObject *core_bands(PyObject *module, PyObject *arguments);
PyObject *core_common(PyObject *module, PyObject *arguments);
PyObject *core_numbers(PyObject *module, PyObject *arguments);

#endif
