/* The numbers of a text in UTF-8: item.numbers._numbers.
 *
 * It reads no byte outside the text, even if that is not UTF-8. What is rare, or depends on Python's
 * Unicode tables, is left to Python.
 */

#include "core.h"

#define BETWEEN '\x1f' /* stands behind each number, and in none */

/* Of a longer text normal() may leave the end as written. In bytes, at least as many as characters. */
#define MOST_NORMALISED (1 << 15)

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

/* The first digit from there on. */
static At next_digit(At at, At end)
{
    const uint64_t ones = 0x0101010101010101u, highs = ones << 7;
    for (; end - at >= 8; at += 8) {
        uint64_t word, found;
        memcpy(&word, at, 8);
        found = word ^ ones * '0'; /* below ten where there is a digit */
        found = (found - ones * 10) & ~found;
        if (found & highs)
            break;
    }
    while (at < end && !is_digit(*at))
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

/* Whether the digits that end there are those of a relative time. */
static int is_ago(At at, At end)
{
    static const char *units[] = {"second", "sec", "minute", "min", "hour", "hr", "day"};
    static const char *chinese[] = {"\xE7\xA7\x92", "\xE5\x88\x86\xE9\x92\x9F",
                                    "\xE5\xB0\x8F\xE6\x97\xB6", "\xE5\xA4\xA9"};
    if (at < end && *at == ' ')
        at++;
    for (size_t which = 0; at < end && *at >= 0x80 && which < 4; which++) {
        if (!is_at(at, end, chinese[which]))
            continue;
        return is_at(at + strlen(chinese[which]), end, BEFORE);
    }
    for (size_t which = 0; which < sizeof units / sizeof *units; which++) {
        if (!is_at(at, end, units[which]))
            continue;
        At behind = at + strlen(units[which]);
        behind += behind < end && *behind == 's';
        if (is_at(behind, end, " ago"))
            return 1;
    }
    return 0;
}

/* Append the numbers of a normalised text, each with a BETWEEN behind it. Returns 1 to leave it to
 * Python, if it may have times that do not count and `has_times` is not 0; -1 without memory. */
static int find_numbers(Bytes *found, At start, At end, int has_times)
{
    At at = start;

    while ((at = next_digit(at, end)) < end) {
        At first = start_of_number(start, at), behind = at;
        do {
            for (at = behind; at < end && is_digit(*at);)
                at++;
            if (has_times && is_ago(at, end))
                return 1;
        } while (first && (behind = behind_joint(at, end)));
        if (first && add_number(found, first, at))
            return -1;
    }
    return 0;
}

/* Whether there is one of numbers._SIGNS_OF_THAT. */
static int may_say_when_made_anew(At start, At end)
{
    for (At at = start; (at = memchr(at, 'l', (size_t)(end - at))); at++)
        if (is_at(at, end, "last ") &&
            (is_before(start, at, "age ") || is_before(start, at, "age was ")))
            return 1;
    for (At at = start; (at = memchr(at, LATEST[0], (size_t)(end - at))); at++)
        if (is_at(at, end, LATEST) && (is_before(start, at, PAGE) || is_before(start, at, FACE)))
            return 1;
    return 0;
}

/* What NFKC makes of a character, if it stays what it is or becomes ASCII characters, none of which
 * can be composed with others; else NULL. Characters are never changed in later versions of Unicode:
 * only what is assigned counts. */
static const char *plain(uint32_t c)
{
    static const uint32_t same[][2] = {
        {0x4E00, 0x9FEF}, {0x80, 0x9F}, {0xA1, 0xA7}, {0xA9, 0xA9}, {0xAB, 0xAE}, {0xB0, 0xB1},
        {0xB6, 0xB7}, {0xBB, 0xBB}, {0xBF, 0x131}, {0x134, 0x13E}, {0x141, 0x148}, {0x14A, 0x17E},
        {0x180, 0x1C3}, {0x386, 0x386}, {0x388, 0x38A}, {0x38E, 0x3A1}, {0x3A3, 0x3CE},
        {0x400, 0x482}, {0x48A, 0x52F}, {0x5D0, 0x5EA}, {0x60C, 0x60C}, {0x61F, 0x61F},
        {0x620, 0x64A}, {0x671, 0x674}, {0x679, 0x6D3}, {0x1E02, 0x1E99}, {0x1EA0, 0x1EF9},
        {0x200B, 0x2010}, {0x2012, 0x2016}, {0x2018, 0x2023}, {0x2027, 0x202E}, {0x2030, 0x2032},
        {0x2038, 0x203B}, {0x2060, 0x2064}, {0x20A9, 0x20BF}, {0x2190, 0x21FF}, {0x2212, 0x2212},
        {0x22C5, 0x22C5}, {0x2500, 0x27BF}, {0x3001, 0x3029}, {0x3041, 0x3096}, {0x30A0, 0x30FE},
        {0x3400, 0x4DB5}, {0xAC00, 0xD7A3}, {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0x1F1E6, 0x1F1FF},
        {0x1F300, 0x1F64F}, {0x1F680, 0x1F6D2}, {0x1F90C, 0x1F9FF},
    };
    static const struct { uint32_t first, last; const char *plain; } others[] = {
        {0xA0, 0xA0, " "},     {0xAA, 0xAA, "a"},     {0xB2, 0xB3, "23"},    {0xB9, 0xBA, "1o"},
        {0x2002, 0x200A, "         "},                {0x202F, 0x202F, " "}, {0x2070, 0x2071, "0i"},
        {0x2074, 0x2079, "456789"},                   {0x2080, 0x2089, "0123456789"},
        {0x3000, 0x3000, " "},
    };
    for (size_t at = 0; at < sizeof same / sizeof *same; at++)
        if (c >= same[at][0] && c <= same[at][1])
            return "";
    for (size_t at = 0; at < sizeof others / sizeof *others; at++)
        if (c >= others[at].first && c <= others[at].last)
            return others[at].plain + (c - others[at].first);
    return NULL;
}

/* Normalise a text. Returns where the new one, which is not longer, ends; NULL to leave it to Python. */
static unsigned char *normalise(At at, At end, unsigned char *made)
{
    int is_long = end - at > MOST_NORMALISED;

    while (at < end) {
        At start = at;
        uint32_t character = *at < 0x80 ? *at++ : read_character(&at, end);
        const char *found;
        if (character < 0x80) {
            *made++ = (unsigned char)character;
        } else if (character == 0x2026) {
            memcpy(made, "...", 3);
            made += 3;
        } else if (character > 0xFF00 && character < 0xFF5F) {
            *made = (unsigned char)(character - 0xFEE0);
            if (is_long && !strchr(",:;!?()", *made))
                return NULL;
            made++;
        } else if (!(found = plain(character)) || (*found && is_long)) {
            return NULL;
        } else if (*found) {
            *made++ = (unsigned char)*found;
        } else {
            memcpy(made, start, (size_t)(at - start));
            made += at - start;
        }
    }
    return made;
}

static int is_ascii(At at, At end)
{
    uint64_t word, all = 0;
    for (; end - at >= 8; at += 8, all |= word)
        memcpy(&word, at, 8);
    for (; at < end; at++)
        all |= *at;
    return !(all & 0x8080808080808080u);
}

/* Append the numbers of a text; see find_numbers. */
static int numbers_of(Bytes *found, At start, At end)
{
    unsigned char *made = NULL;

    if (!is_ascii(start, end)) {
        if (!(made = malloc((size_t)(end - start) + 1)))
            return -1;
        end = normalise(start, end, made);
        start = made;
    }
    int is_left = !end || may_say_when_made_anew(start, end);
    int result = is_left ? 1 : find_numbers(found, start, end, 1);
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
    At start = text.buf, end = start + text.len;
    int result = normalised ? find_numbers(&found, start, end, 0)
                            : numbers_of(&found, start, end);
    PyBuffer_Release(&text);
    if (result < 0)
        PyErr_NoMemory();
    else
        list = result ? Py_NewRef(Py_None) : PyList_New(0);
    for (char *at = found.at, *stop = at + found.used; list && !result && at < stop;) {
        char *behind = memchr(at, BETWEEN, (size_t)(stop - at));
        PyObject *number = PyUnicode_DecodeUTF8(at, behind - at, NULL);
        if (!number || PyList_Append(list, number))
            Py_CLEAR(list);
        Py_XDECREF(number);
        at = behind + 1;
    }
    free(found.at);
    return list;
}
