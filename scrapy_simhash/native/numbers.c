/* The numbers of a text in UTF-8: item.numbers._numbers.
 *
 * It reads no byte outside the text, even if that is not UTF-8. Rare things, and those that depend
 * on Python's Unicode tables, are left to Python.
 */

#include "plain.h"

/* In UTF-8, whatever encoding the compiler assumes. */
#define QUOTE "\xE2\x80\x99" /* used as an apostrophe */
#define MINUS "\xE2\x88\x92"
#define BEFORE "\xE5\x89\x8D"  /* Chinese, like the next ones: ago */
#define PAGE "\xE9\xA1\xB5"
#define FACE "\xE9\x9D\xA2" /* with the one before it: page */
#define LATEST "\xE6\x9C\x80\xE5\x90\x8E" /* last */

static int is_digit(unsigned char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* Whether a text stands there. */
static int is_at(At at, At end, const char *text)
{
    size_t size = strlen(text);
    return (size_t)(end - at) >= size && !memcmp(at, text, size);
}

/* Whether a text stands before there. */
static int is_before(At start, At at, const char *text)
{
    size_t size = strlen(text);
    return (size_t)(at - start) >= size && !memcmp(at - size, text, size);
}

/* The first byte from there on that is a digit or, if `beyond`, not ASCII. */
static At next_of_interest(At at, At end, int beyond)
{
    const uint64_t ones = 0x0101010101010101u, highs = ones << 7;
    for (; end - at >= 8; at += 8) {
        uint64_t word, found;
        memcpy(&word, at, 8);
        found = word ^ ones * '0'; /* below ten where there is a digit */
        found = (found - ones * 10) & ~found;
        if (((beyond ? found | word : found) & highs))
            break;
    }
    while (at < end && !is_digit(*at) && !(beyond && *at >= 0x80))
        at++;
    return at;
}

/* The character before a place that is not the beginning, and where it starts; anything for invalid
 * UTF-8. */
static uint32_t character_before(At start, At *at)
{
    uint32_t character = 0;
    int shift = 0;
    do {
        unsigned char byte = *--*at;
        if (byte < 0x80)
            return byte;
        if (byte >= 0xC0)
            return character | (byte & (0x3Fu >> shift / 6)) << shift;
        character |= (byte & 0x3Fu) << shift;
        shift += 6;
    } while (*at > start && shift < 24);
    return character;
}

/* numbers._LETTERS */
static int is_letter(uint32_t c)
{
    if (c < 0x80)
        return (c | 0x20) - 'a' < 26 || c == '_';
    return c == 0xAA || c == 0xB5 || c == 0xBA || (c >= 0xC0 && c <= 0x10FF) ||
           (c >= 0x1200 && c <= 0x1FFF) || (c >= 0x2C60 && c <= 0x2DFF) ||
           (c >= 0xA640 && c <= 0xABE5);
}

/* Behind a mark that joins two runs of digits; NULL if there is none. */
static At behind_joint(At at, At end)
{
    if (at < end && (*at == '.' || *at == ',' || *at == ':' || *at == '\''))
        at++;
    else if (is_at(at, end, QUOTE))
        at += 3;
    else
        return NULL;
    return at < end && is_digit(*at) ? at : NULL;
}

/* Whether digits and a mark before it make this a part of a number. */
static int goes_on(At start, At at)
{
    if (is_before(start, at, QUOTE))
        at -= 3;
    else if (at > start && (at[-1] == '.' || at[-1] == ',' || at[-1] == ':' || at[-1] == '\''))
        at--;
    else
        return 0;
    return at > start && is_digit(at[-1]);
}

/* Where the number of these digits starts, with its sign; NULL for a part of a word or of another
 * number. */
static At start_of_number(At start, At digits)
{
    At sign = is_before(start, digits, "-") ? digits - 1
              : is_before(start, digits, MINUS) ? digits - 3
                                                   : NULL;
    if (sign && (sign == start || *(sign - 1) == '(' || *(sign - 1) == ' ' ||
                 (*(sign - 1) >= '\t' && *(sign - 1) <= '\r')))
        return sign;
    if (digits == start)
        return digits;
    At before = digits;
    if (is_letter(character_before(start, &before)))
        return NULL;
    return goes_on(start, digits) ? NULL : digits;
}

/* Whether all of it is one number in groups of three: numbers._GROUPED. */
static int is_grouped(At at, At end)
{
    At first = at;
    int groups = 0;

    while (at < end && is_digit(*at))
        at++;
    if (at - first > 3)
        return 0;
    while (at < end && *at != '.') {
        if (!(at = behind_joint(at, end)) || at[-1] == ':' || end - at < 3 || !is_digit(at[1]) ||
            !is_digit(at[2]))
            return 0;
        at += 3;
        groups++;
        if (at < end && is_digit(*at))
            return 0;
    }
    if (at < end) /* a fraction */
        for (at++; at < end && is_digit(*at);)
            at++;
    return groups && at == end;
}

/* Append a number in one notation: numbers._ungrouped. */
static int add_number(Bytes *found, At at, At end)
{
    At sign = is_digit(*at) ? NULL : at;
    at += !sign ? 0 : *at == '-' ? 1 : 3;
    int grouped = is_grouped(at, end);
    char *made = room_for(found, (size_t)(end - at) + 2);

    if (!made)
        return -1;
    if (sign)
        *made++ = '-';
    for (; at < end; at++)
        if (!grouped || is_digit(*at) || *at == '.')
            *made++ = (char)*at;
    *made++ = BETWEEN;
    found->used = (size_t)(made - found->at);
    return 0;
}

/* Append the numbers of a normalised text, each with a BETWEEN behind it. */
static int find_numbers(Bytes *found, At start, At end)
{
    At at = start;

    while ((at = next_of_interest(at, end, 0)) < end) {
        At first = start_of_number(start, at), behind = at;
        do {
            for (at = behind; at < end && is_digit(*at);)
                at++;
        } while (first && (behind = behind_joint(at, end)));
        if (first && add_number(found, first, at))
            return -1;
    }
    return 0;
}

/* Behind a relative time whose digits end there; else NULL. */
static At behind_ago(At at, At end)
{
    static const char *units[] = {"second", "sec", "minute", "min", "hour", "hr", "day"};
    static const char *chinese[] = {"\xE7\xA7\x92", "\xE5\x88\x86\xE9\x92\x9F",
                                    "\xE5\xB0\x8F\xE6\x97\xB6", "\xE5\xA4\xA9"};
    if (at < end && *at == ' ')
        at++;
    for (size_t which = 0; at < end && *at >= 0x80 && which < 4; which++) {
        if (!is_at(at, end, chinese[which]))
            continue;
        At behind = at + strlen(chinese[which]);
        return is_at(behind, end, BEFORE) ? behind + strlen(BEFORE) : NULL;
    }
    for (size_t which = 0; which < sizeof units / sizeof *units; which++) {
        if (!is_at(at, end, units[which]))
            continue;
        At behind = at + strlen(units[which]);
        behind += behind < end && *behind == 's';
        if (is_at(behind, end, " ago"))
            return behind + 4;
    }
    return NULL;
}

/* The bytes of a character; anything within the text for invalid UTF-8. */
static int size_of(At at, At end)
{
    int size = *at < 0xC0 ? 1 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : 4;
    return end - at < size ? 1 : size;
}

/* Whether a character is a digit, or may be one of another script. */
static int may_be_digit(At at, int size)
{
    if (size == 1)
        return is_digit(*at);
    uint32_t character = size == 2   ? (at[0] & 0x1Fu) << 6 | (at[1] & 0x3Fu)
                         : size == 3 ? (at[0] & 0x0Fu) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu)
                                     : 0x10000;
    return !(character < 0x660 || (character >= 0x1E00 && character < 0xA000) ||
             (character >= 0xAC00 && character < 0xD800));
}

/* Replace relative times by spaces. `made`: the new text, allocated if there are any. Returns its
 * size, or that of the text; -1 to leave it to Python, -2 without memory. */
static Py_ssize_t without_ago(At start, At end, unsigned char **made)
{
    At done = start;
    size_t used = 0;

    for (At at = start; (at = next_of_interest(at, end, 1)) < end;) {
        At digits = at;
        int size = 1, is_ascii = 1;
        for (; at < end && may_be_digit(at, size = size_of(at, end)); at += size)
            is_ascii &= size == 1;
        if (at == digits) {
            at += size;
            continue;
        }
        At behind = behind_ago(at, end);
        if (behind && !is_ascii)
            return -1;
        if (behind) {
            if (!*made && !(*made = malloc((size_t)(end - start))))
                return -2;
            memcpy(*made + used, done, (size_t)(digits - done));
            used += (size_t)(digits - done);
            (*made)[used++] = ' ';
            done = at = behind;
        }
    }
    if (!*made)
        return end - start;
    memcpy(*made + used, done, (size_t)(end - done));
    return (Py_ssize_t)used + (end - done);
}

/* The next occurrence of four bytes; the end if there is none. */
static At next_four(At at, At end, const char *four)
{
    const uint64_t ones = 0x0101010101010101u, highs = ones << 7;
    uint64_t wanted[4], words[4], differ;

    for (int which = 0; which < 4; which++)
        wanted[which] = ones * (unsigned char)four[which];
    for (; end - at >= 11; at += 8) {
        for (int which = 0; which < 4; which++)
            memcpy(&words[which], at + which, 8);
        differ = (words[0] ^ wanted[0]) | (words[1] ^ wanted[1]);
        differ |= (words[2] ^ wanted[2]) | (words[3] ^ wanted[3]);
        if ((differ - ones) & ~differ & highs)
            break;
    }
    for (; end - at >= 4; at++)
        if (!memcmp(at, four, 4))
            return at;
    return end;
}

/* Whether there is one of numbers._SIGNS_OF_THAT. */
static int may_say_when_made_anew(At start, At end)
{
    for (At at = start; (at = next_four(at, end, "last")) < end; at++)
        if (is_at(at, end, "last ") &&
            (is_before(start, at, "age ") || is_before(start, at, "age was ")))
            return 1;
    for (At at = start; (at = next_four(at, end, LATEST)) < end; at++)
        if (is_at(at, end, LATEST) && (is_before(start, at, PAGE) || is_before(start, at, FACE)))
            return 1;
    return 0;
}

int numbers_of(At start, At end, int normalised, Bytes *found, const unsigned char *signs, int *tells)
{
    unsigned char *plain = NULL, *made = NULL;
    Py_ssize_t size = -2;
    int result;

    if (!normalised && (plain = malloc((size_t)(end - start) + 1))) {
        end = plain_text(start, end, plain);
        start = plain;
    }
    if (normalised || plain)
        size = end ? without_ago(start, end, &made) : -1;
    if (made)
        start = made;
    if (size == -2)
        result = -1;
    else if (size == -1 || may_say_when_made_anew(start, start + size))
        result = 0;
    else
        result = find_numbers(found, start, start + size) ? -1 : 1;
    if (signs && result > 0)
        *tells = made || may_tell_state(start, start + size, signs);
    free(plain);
    free(made);
    return result;
}

PyObject *core_numbers(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Py_buffer text;
    Bytes found = {0};
    PyObject *list = NULL;
    int normalised;

    if (!PyArg_ParseTuple(arguments, "s*p:numbers", &text, &normalised))
        return NULL;
    int result = numbers_of(text.buf, (At)text.buf + text.len, normalised, &found, NULL, NULL);
    PyBuffer_Release(&text);
    if (result < 0)
        PyErr_NoMemory();
    else
        list = result ? PyList_New(0) : Py_NewRef(Py_None);
    for (char *at = found.at, *end = at + found.used; list && result && at < end;) {
        char *behind = memchr(at, BETWEEN, (size_t)(end - at));
        PyObject *number = PyUnicode_DecodeUTF8(at, behind - at, NULL);
        if (!number || PyList_Append(list, number))
            Py_CLEAR(list);
        Py_XDECREF(number);
        at = behind + 1;
    }
    free(found.at);
    return list;
}
