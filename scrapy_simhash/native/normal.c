/* Whether compatibility composition (NFKC) leaves a text as it is, seen at once: item/numbers.py. */

#include "core.h"

#include <string.h>

typedef struct {
    uint32_t first, last;
} Range;

/* Of these none changes, and none joins the one before it, in any version of Unicode from 14 on: most
 * letters of most texts, and their punctuation. */
static const Range KEPT[] = {
    {0xA1, 0xA7},     {0xA9, 0xA9},     {0xAB, 0xAE},     {0xB0, 0xB1},     {0xB6, 0xB7},
    {0xBB, 0xBB},     {0xBF, 0x131},    {0x134, 0x13E},   {0x141, 0x148},   {0x14A, 0x17E},
    {0x388, 0x38A},   {0x38E, 0x3A1},   {0x3A3, 0x3CE},   {0x400, 0x481},   {0x48A, 0x52F},
    {0x5D0, 0x5EA},   {0x621, 0x64A},   {0x1EA0, 0x1EF9}, {0x200B, 0x2010}, {0x2012, 0x2016},
    {0x2018, 0x2023}, {0x2039, 0x203B}, {0x20AC, 0x20AC}, {0x2190, 0x2199}, {0x2212, 0x2212},
    {0x25A0, 0x25FF}, {0x3001, 0x3003}, {0x3008, 0x3011}, {0x3041, 0x3096}, {0x30A1, 0x30FE},
    {0x3400, 0x4DBF}, {0x4E00, 0x9FFC}, {0xAC00, 0xD7A3},
};

static int is_kept(uint32_t character)
{
    size_t low = 0, high = sizeof KEPT / sizeof *KEPT;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (character > KEPT[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sizeof KEPT / sizeof *KEPT && character >= KEPT[low].first;
}

static const unsigned char *behind_ascii(const unsigned char *at, const unsigned char *end)
{
    for (uint64_t eight; end - at >= 8; at += 8) {
        memcpy(&eight, at, 8);
        if (eight & 0x8080808080808080u)
            break;
    }
    while (at < end && *at < 0x80)
        at++;
    return at;
}

/* Of UTF-8. What lies beyond the first plane is not looked at. */
static int is_normal(const unsigned char *at, const unsigned char *end)
{
    while ((at = behind_ascii(at, end)) < end) {
        int size = *at < 0xE0 ? 2 : 3;
        if (*at >= 0xF0 || end - at < size)
            return 0;
        uint32_t character = size == 2 ? (at[0] & 0x1Fu) << 6 | (at[1] & 0x3Fu)
                                       : (at[0] & 0x0Fu) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu);
        if (!is_kept(character))
            return 0;
        at += size;
    }
    return 1;
}

PyObject *core_is_normal(PyObject *Py_UNUSED(module), PyObject *text)
{
    Py_ssize_t size;
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "no text");
        return NULL;
    }
    const unsigned char *at = (const unsigned char *)PyUnicode_AsUTF8AndSize(text, &size);
    if (!at) { /* it has lone surrogates, or there is no memory */
        PyErr_Clear();
        Py_RETURN_FALSE;
    }
    return PyBool_FromLong(is_normal(at, at + size));
}
