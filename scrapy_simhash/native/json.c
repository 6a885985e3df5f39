/* Lines of JSON: feed.json_lines.JsonLines.item, for the plainest items. */

#include "json.h"

#define MOST_LINE 450000 /* bytes; see feed.source.MOST_VALUES */
#define MOST_NUMBER 24   /* characters */
#define MOST_NESTED 8
#define GLANCE 64        /* bytes in which an address has its slashes */

static At behind_space(At at, At end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
        at++;
    return at;
}

/* Whether it is UTF-8, without surrogates. */
static int is_utf8(At at, At end)
{
    while (at < end) {
        uint64_t word;
        if (end - at >= 8 && (memcpy(&word, at, 8), !(word & 0x8080808080808080u))) {
            at += 8;
            continue;
        }
        unsigned char first = *at++;
        if (first < 0x80)
            continue;
        int further = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
        if (first < 0xC2 || first > 0xF4 || end - at < further)
            return 0;
        unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
        unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
        for (; further; further--, least = 0x80, most = 0xBF, at++)
            if (*at < least || *at > most)
                return 0;
    }
    return 1;
}

/* The four hexadecimal digits there; -1 if there are none. */
static int32_t hexadecimal(At at, At end)
{
    int32_t value = 0;
    if (end - at < 4)
        return -1;
    for (int place = 0; place < 4; place++) {
        unsigned char letter = at[place] | 0x20;
        int digit = at[place] >= '0' && at[place] <= '9' ? at[place] - '0'
                    : letter >= 'a' && letter <= 'f'     ? letter - 'a' + 10
                                                         : -1;
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

static size_t put_character(char *made, uint32_t c)
{
    if (c < 0x80)
        return *made = (char)c, 1;
    size_t further = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    for (size_t place = further; place; place--, c >>= 6)
        made[place] = (char)(0x80 | (c & 0x3F));
    *made = (char)((further == 1 ? 0xC0 : further == 2 ? 0xE0 : 0xF0) | c);
    return further + 1;
}

/* What an escape behind a backslash stands for, and where it ends; NULL for Python. */
static At read_escape(At at, At end, uint32_t *c)
{
    static const char marks[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (at == end)
        return NULL;
    if (*at != 'u') {
        const char *found = *at ? strchr(marks, *at) : NULL;
        *c = found ? (uint32_t)meant[found - marks] : 0;
        return found ? at + 1 : NULL;
    }
    int32_t first = hexadecimal(at + 1, end), second;
    at += 5;
    if (first < 0x20)
        return NULL;
    if (first < 0xD800 || first > 0xDFFF)
        return *c = (uint32_t)first, at;
    if (first > 0xDBFF || end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return NULL;
    second = hexadecimal(at + 2, end);
    *c = 0x10000 + (uint32_t)((first & 0x3FF) << 10 | (second & 0x3FF));
    return second >= 0xDC00 && second <= 0xDFFF ? at + 6 : NULL;
}

/* The first byte from there on that is a quote, a backslash or a control character. */
static At end_of_run(At at, At end)
{
    const uint64_t ones = 0x0101010101010101u, highs = ones << 7;
    for (; end - at >= 8; at += 8) {
        uint64_t word, quote, back;
        memcpy(&word, at, 8);
        quote = word ^ ones * '"';
        back = word ^ ones * '\\';
        if (((quote - ones) & ~quote | (back - ones) & ~back | (word - ones * 0x20) & ~word) & highs)
            break;
    }
    while (at < end && *at != '"' && *at != '\\' && *at >= 0x20)
        at++;
    return at;
}

/* Read a string from behind its quote on. Returns where it ends; NULL for Python. No string is
 * longer in UTF-8 than as it is written, so there is room for all of it. */
static At read_string(At at, At end, Bytes *made)
{
    made->used = 0;
    for (;;) {
        At run = end_of_run(at, end);
        memcpy(made->at + made->used, at, (size_t)(run - at));
        made->used += (size_t)(run - at);
        if (run == end || *run < 0x20)
            return NULL;
        if (*run == '"')
            return run + 1;
        uint32_t c;
        if (!(at = read_escape(run + 1, end, &c)))
            return NULL;
        made->used += put_character(made->at + made->used, c);
    }
}

static At read_word(At at, At end, const char *word)
{
    size_t size = strlen(word);
    return (size_t)(end - at) >= size && !memcmp(at, word, size) ? at + size : NULL;
}

static At behind_digits(At at, At end)
{
    At start = at;
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at == start ? NULL : at;
}

static At read_number(At start, At end)
{
    At at = start + (*start == '-');
    int has_zero = at < end && *at == '0';
    At behind = behind_digits(at, end);
    if (!behind || (has_zero && behind - at > 1))
        return NULL;
    if (behind < end && *behind == '.' && !(behind = behind_digits(behind + 1, end)))
        return NULL;
    if (behind < end && (*behind | 0x20) == 'e') {
        behind += behind + 1 < end && (behind[1] == '+' || behind[1] == '-') ? 2 : 1;
        behind = behind_digits(behind, end);
    }
    return behind && behind - start <= MOST_NUMBER ? behind : NULL;
}

/* Read any value that is none of the two that count. `made`: for strings. */
static At read_value(At at, At end, Bytes *made, int depth)
{
    if (at == end || depth > MOST_NESTED)
        return NULL;
    if (*at == '"')
        return read_string(at + 1, end, made);
    if (*at == 't' || *at == 'f' || *at == 'n')
        return read_word(at, end, *at == 't' ? "true" : *at == 'f' ? "false" : "null");
    if (*at != '[' && *at != '{')
        return read_number(at, end);
    char closing = *at == '[' ? ']' : '}';
    at = behind_space(at + 1, end);
    if (at < end && *at == closing)
        return at + 1;
    for (; at && at < end; at = behind_space(at + 1, end)) {
        if (closing == '}') {
            at = *at == '"' ? read_string(at + 1, end, made) : NULL;
            at = at ? behind_space(at, end) : NULL;
            if (!at || at == end || *at != ':')
                return NULL;
            at = behind_space(at + 1, end);
        }
        if (!(at = read_value(at, end, made, depth + 1)))
            return NULL;
        at = behind_space(at, end);
        if (at == end || *at == closing)
            return at == end ? NULL : at + 1;
        if (*at != ',')
            return NULL;
    }
    return NULL;
}

/* What the field of that name is; -1 for an unknown one. */
static int field_called(const Bytes *name, const Field *fields, Py_ssize_t count)
{
    for (Py_ssize_t at = 0; at < count; at++)
        if ((size_t)fields[at].name.len == name->used &&
            !memcmp(fields[at].name.buf, name->at, name->used))
            return fields[at].is;
    return -1;
}

static int may_be_address(const Bytes *text)
{
    At at = (At)text->at, end = at + (text->used < GLANCE ? text->used : GLANCE);
    for (; end - at > 1; at++)
        if (at[0] == '/' && at[1] == '/')
            return 1;
    return 0;
}

/* Read a member of the object. Returns where it ends; NULL for Python. */
static At read_member(At at, At end, const Field *fields, Py_ssize_t count, Item *item, Bytes *other)
{
    if (at == end || *at != '"' || !(at = read_string(at + 1, end, other)))
        return NULL;
    int is = field_called(other, fields, count);
    at = behind_space(at, end);
    if (is < 0 || at == end || *at != ':')
        return NULL;
    at = behind_space(at + 1, end);
    if (at == end)
        return NULL;
    if (is == IGNORED) {
        int is_text = *at == '"', is_list = *at == '[';
        at = is_list ? NULL : read_value(at, end, other, 0);
        return is_text && at && may_be_address(other) ? NULL : at;
    }
    int *has = is == COMPARED ? &item->has_text : &item->has_url;
    if ((*has)++ || *at != '"')
        return NULL;
    return read_string(at + 1, end, is == COMPARED ? &item->text : &item->url);
}

int read_item(At at, At end, const Field *fields, Py_ssize_t count, Item *item)
{
    Bytes other = {0};
    int is_plain = 0;

    item->has_text = item->has_url = 0;
    item->text.used = item->url.used = 0;
    if (end - at > MOST_LINE || !is_utf8(at, end))
        return 0;
    if (!room_for(&other, (size_t)(end - at)) || !room_for(&item->text, (size_t)(end - at)) ||
        !room_for(&item->url, (size_t)(end - at))) {
        free(other.at);
        return -1;
    }
    at = behind_space(at, end);
    at = at < end && *at == '{' ? behind_space(at + 1, end) : NULL;
    while (at && (at = read_member(at, end, fields, count, item, &other))) {
        at = behind_space(at, end);
        if (at < end && *at == ',') {
            at = behind_space(at + 1, end);
            continue;
        }
        is_plain = at < end && *at == '}' && behind_space(at + 1, end) == end;
        break;
    }
    free(other.at);
    return is_plain && item->has_text;
}
