/* The compiled core: the slowest Python functions once more in C, with identical results. The
 * Python code is the specification; functions here have the names of those there.
 *
 * Nothing is kept between two calls. Whatever depends on a database or a version, such as the fold
 * table and the keys of hashes, is an argument.
 */

#include "node.h"

int grow(Buffer *buffer, size_t size)
{
    size_t room = 2 * buffer->room + size + 1024;
    char *grown = realloc(buffer->bytes, room);
    if (grown) {
        buffer->bytes = grown;
        buffer->room = room;
    }
    buffer->failed |= !grown;
    return grown != NULL;
}

PyObject *left_to_python(PyObject *made)
{
    if (made || !PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
        return made;
    PyErr_Clear();
    return Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
    {"tokens", core_tokens, METH_VARARGS, NULL},
    {"changes", core_changes, METH_VARARGS, NULL},
    {"sketches", core_sketches, METH_VARARGS, NULL},
    {"minhash", core_minhash, METH_VARARGS, NULL},
    {"bands", core_bands, METH_VARARGS, NULL},
    {"common", core_common, METH_VARARGS, NULL},
    {"compare", core_compare, METH_VARARGS, NULL},
    {"knows", core_knows, METH_O, NULL},
    {"page", core_page, METH_VARARGS, NULL},
    {"leaves", core_leaves, METH_O, NULL},
    {"elements", core_elements, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int add_constants(PyObject *module)
{
    return PyModule_AddIntConstant(module, "LIBXML_VERSION", LIBXML_VERSION);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)add_constants}, {0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "scrapy_simhash.native._core",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&module);
}
