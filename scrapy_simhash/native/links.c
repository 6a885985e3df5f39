/* A list of links at a glance: item.addresses._lead and _is_word of each.
 *
 * What is not plain is left to the pure path: the answer is then 0.
 */

#include "core.h"

#include <string.h>

enum { ASK, ELSEWHERE, ANCHOR }; /* as in item/addresses.py */

/* What else stands in a text. */
enum { SPACE = 1, BEYOND = 2, BEHIND = 4, TAG = 8 };

/* Longer ones are data; from so many characters on there is a host in what begins with "http://". */
#define LENGTH 8192
#define HOSTED 9

/* Of an address in which characters are quoted. */
#define QUOTED_LENGTH 2048

typedef struct {
    const char *text;
    Py_ssize_t size;
} Text;

static const unsigned char KINDS[128] = {
    ['\t'] = SPACE, ['\n'] = SPACE, ['\v'] = SPACE, ['\f'] = SPACE, ['\r'] = SPACE,
    [0x1c] = SPACE, [0x1d] = SPACE, [0x1e] = SPACE, [0x1f] = SPACE, [' '] = SPACE,
    ['?'] = BEHIND, ['#'] = BEHIND, [';'] = BEHIND, ['<'] = TAG,
};

static int kind_of(unsigned char c)
{
    return c < 0x80 ? KINDS[c] : BEYOND;
}

static int kinds_of(Text text)
{
    int kinds = 0;
    for (Py_ssize_t at = 0; at < text.size; at++)
        kinds |= kind_of((unsigned char)text.text[at]);
    return kinds;
}

/* Whether a text is a word without tags: eight bytes at a time, of which each is most often one of
 * ASCII above the space. What is found where the borrow of a lower byte ends makes it look twice. */
static int is_plain_word(Text text)
{
    static const uint64_t ones = ~(uint64_t)0 / 255, tops = ones << 7;
    Py_ssize_t at = 0;
    for (uint64_t eight; text.size - at >= 8; at += 8) {
        memcpy(&eight, text.text + at, 8);
        uint64_t tag = eight ^ ones * '<';
        if ((eight | (eight - ones * '!') | ((tag - ones) & ~tag)) & tops)
            break;
    }
    text.text += at;
    text.size -= at;
    return !(kinds_of(text) & (SPACE | BEYOND | TAG));
}

static int starts(Text text, const char *with)
{
    size_t size = strlen(with);
    return (size_t)text.size >= size && !memcmp(text.text, with, size);
}

static int ends(Text text, Text with)
{
    return text.size >= with.size &&
           !memcmp(text.text + text.size - with.size, with.text, (size_t)with.size);
}

/* Whether a part, which is not empty, stands in a text. */
static int holds(Text text, Text part)
{
    const char *at = text.text, *end = text.text + text.size;
    for (; end - at >= part.size; at++) {
        at = memchr(at, *part.text, (size_t)(end - at - part.size + 1));
        if (!at)
            return 0;
        if (!memcmp(at, part.text, (size_t)part.size))
            return 1;
    }
    return 0;
}

/* Whether what stands behind two slashes somewhere is neither a path nor a host. */
static int is_cut_short(Text text)
{
    const char *at = text.text, *end = at + text.size;
    for (; end - at >= 3; at++) {
        at = memchr(at, '/', (size_t)(end - at - 2));
        if (!at)
            return 0;
        if (at[1] == '/' && (at[2] == '#' || at[2] == '?'))
            return 1;
    }
    return 0;
}

/* Whether a text that begins as addresses do has a host, or a path from the top. */
static int is_whole(Text text)
{
    int is_rooted = text.text[0] == '/' && (text.size == 1 || text.text[1] != '/');
    for (int at = 0; at < HOSTED && !is_rooted; at++)
        if (at == text.size || kind_of((unsigned char)text.text[at]) & (SPACE | BEYOND))
            return 0;
    return !is_cut_short(text);
}

/* Whether a word is a path without a host, and without dots that lead upwards. */
static int is_path(Text word)
{
    static const Text odd[] = {{"/.", 2}, {"//", 2}, {":", 1}};
    unsigned char c = (unsigned char)*word.text, letter = c | 0x20;
    Text rest = {word.text + 1, word.size - 1};
    if (c != '_' && !(c >= '0' && c <= '9') && !(letter >= 'a' && letter <= 'z'))
        return 0;
    return !holds(rest, odd[0]) && !holds(rest, odd[1]) && !holds(rest, odd[2]);
}

/* Whether an address in which the end of that of the page stands leads elsewhere nevertheless. */
static int ends_otherwise(Text text, Text tail)
{
    static const Text dot = {".", 1};
    if (kinds_of(text) & (BEYOND | BEHIND))
        return 0;
    while (text.size && kind_of((unsigned char)text.text[text.size - 1]) == SPACE)
        text.size--;
    while (text.size && text.text[text.size - 1] == '/')
        text.size--;
    return !ends(text, tail) && !ends(text, dot);
}

static int digit_of(char c)
{
    char letter = c | 0x20;
    return c >= '0' && c <= '9' ? c - '0' : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* As urllib.parse.unquote has it, but for what is no UTF-8 then. */
static Text unquoted(Text text, char *room)
{
    Text made = {room, 0};
    for (Py_ssize_t at = 0; at < text.size; at++) {
        char c = text.text[at];
        int is_quoted = c == '%' && text.size - at > 2;
        int high = is_quoted ? digit_of(text.text[at + 1]) : -1;
        int low = is_quoted ? digit_of(text.text[at + 2]) : -1;
        if (high >= 0 && low >= 0) {
            c = (char)(high << 4 | low);
            at += 2;
        }
        room[made.size++] = c;
    }
    return made;
}

static int lead(Text text, Text tail, int may_be_word)
{
    /* What takes the place of bytes that are no UTF-8. */
    static const Text replacement = {"\xEF\xBF\xBD", 3};
    char room[QUOTED_LENGTH];
    int is_script = 0;
    if (!text.size)
        return ASK;
    int is_quoted = memchr(text.text, '%', (size_t)text.size) != NULL;
    if (is_quoted && (text.size > QUOTED_LENGTH || holds(tail, replacement)))
        return ASK;
    if (starts(text, "/") || starts(text, "http://") || starts(text, "https://")) {
        if (!is_whole(text))
            return ASK;
    } else {
        if (!may_be_word || text.size > LENGTH || kinds_of(text) & (SPACE | BEYOND))
            return ASK;
        if (*text.text == '#')
            return starts(text, "#!") || starts(text, "#/") ? ASK : ANCHOR;
        is_script = starts(text, "javascript:") || starts(text, "mailto:") || starts(text, "tel:");
        if (!is_script && !is_path(text))
            return ASK;
    }
    if (is_quoted)
        text = unquoted(text, room);
    if (is_script || !holds(text, tail) || ends_otherwise(text, tail))
        return ELSEWHERE;
    return ASK;
}

/* The UTF-8 of a str; NULL for what has none. */
static const char *utf8_of(PyObject *value, Py_ssize_t *size)
{
    const char *text = PyUnicode_CheckExact(value) ? PyUnicode_AsUTF8AndSize(value, size) : NULL;
    if (!text)
        PyErr_Clear();
    return text;
}

PyObject *core_leads(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *values, *end;
    Text tail, text;
    int may_be_words;

    if (!PyArg_ParseTuple(arguments, "O!Up:leads", &PyList_Type, &values, &end, &may_be_words))
        return NULL;
    tail.text = utf8_of(end, &tail.size);
    Py_ssize_t count = PyList_Size(values);
    PyObject *found = PyBytes_FromStringAndSize(NULL, count);
    char *leads = found ? PyBytes_AsString(found) : NULL;
    for (Py_ssize_t at = 0; leads && at < count; at++) {
        text.text = utf8_of(PyList_GetItem(values, at), &text.size);
        int is_told = text.text && tail.text && tail.size;
        leads[at] = (char)(is_told ? lead(text, tail, may_be_words) : ASK);
    }
    return found;
}

PyObject *core_words(PyObject *Py_UNUSED(module), PyObject *values)
{
    if (!PyList_Check(values)) {
        PyErr_SetString(PyExc_TypeError, "no list");
        return NULL;
    }
    Py_ssize_t count = PyList_Size(values);
    PyObject *found = PyBytes_FromStringAndSize(NULL, count);
    char *words = found ? PyBytes_AsString(found) : NULL;
    for (Py_ssize_t at = 0; words && at < count; at++) {
        Text text;
        text.text = utf8_of(PyList_GetItem(values, at), &text.size);
        words[at] = text.text && text.size && text.size <= LENGTH && is_plain_word(text);
    }
    return found;
}
