/* Tables of names, and what class, id and style mark an element as: text.blocks.marking_of. */

#include "tree.h"

#define NAME_LENGTH 256 /* characters that count */
#define STYLE_LENGTH 1024
#define WORD 16 /* more than the longest word has */
#define POSTS "widget Blog" /* of Blogger */

int read_table(Table *table, const Py_buffer *packed)
{
    const unsigned char *at = packed->buf, *end = at + packed->len;
    int count = 0;
    memset(table->lengths, 0, sizeof table->lengths);
    for (; end - at > 2 && at[0] && end - at >= 2 + at[0] && count < 400; at += 2 + at[0], count++) {
        const char *name = (const char *)at + 2;
        unsigned hash = 0;
        for (int place = 0; place < at[0]; place++)
            hash = next_hash(hash, name[place]);
        unsigned slot = slot_of(table, name, at[0], hash);
        table->lengths[slot] = at[0];
        table->numbers[slot] = at[1];
        table->names[slot] = name;
    }
    return at == end;
}

static int is_letter(char c)
{
    return (unsigned char)((c | 0x20) - 'a') < 26;
}

static int is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int is_of_word(char c)
{
    return is_letter(c) || c == '_' || (c >= '0' && c <= '9');
}

/* The end of the first characters of a text. */
static const char *end_of(const char *text, int most)
{
    const char *at = text;
    for (; *at; at++)
        if ((*at & 0xC0) != 0x80 && most-- == 0)
            break;
    return at;
}

/* What the words of a name that are in the table mark. A word with the number SLUG at the beginning
 * of a slug does not count, nor does the slug. */
static int mark_of_name(const Table *words, const char *name)
{
    int found = UNMARKED;
    const char *end = end_of(name, NAME_LENGTH);
    for (const char *at = name; at < end;) {
        const char *start = at;
        char word[WORD];
        unsigned hash = 0;
        for (; at < end && is_letter(*at); at++) {
            char letter = (char)(*at | 0x20);
            if (at - start < WORD)
                word[at - start] = letter;
            hash = next_hash(hash, letter);
        }
        size_t length = (size_t)(at - start);
        if (!length) {
            at++;
            continue;
        }
        if (length > WORD)
            continue;
        unsigned slot = slot_of(words, word, length, hash);
        if (!words->lengths[slot])
            continue;
        if (words->numbers[slot] != SLUG) {
            static const int marks[] = {MARKED, UNMARKED, COMMENTS, FOOTER, DIALOG};
            int mark = marks[words->numbers[slot] % 5];
            found = mark > found ? mark : found;
            continue;
        }
        int begins = start == name || !is_of_word(start[-1]);
        if (begins && end - at > 1 && *at == '-' && !is_space(at[1]))
            while (at < end && !is_space(*at))
                at++;
    }
    return found;
}

/* The end of a text that stands there, in any case; NULL if it does not. */
static const char *after(const char *at, const char *end, const char *text)
{
    for (; *text; text++, at++)
        if (at >= end || (*at | (is_letter(*at) ? 0x20 : 0)) != *text)
            return NULL;
    return at;
}

static int is_declared(const char *at, const char *end, const char *property, const char *value)
{
    if (!(at = after(at, end, property)))
        return 0;
    while (at < end && is_space(*at))
        at++;
    if (!(at = after(at, end, ":")))
        return 0;
    while (at < end && is_space(*at))
        at++;
    return after(at, end, value) != NULL;
}

static int hides(const char *style)
{
    const char *end = end_of(style, STYLE_LENGTH);
    for (const char *at = style; at < end; at++)
        if (is_declared(at, end, "display", "none") || is_declared(at, end, "visibility", "hidden"))
            return 1;
    return 0;
}

int mark_of(const Table *words, const char *names[2], const char *style)
{
    int found = UNMARKED;
    for (int at = 0; at < 2; at++) {
        int mark = names[at] && strcmp(names[at], POSTS) ? mark_of_name(words, names[at]) : UNMARKED;
        found = mark > found ? mark : found;
    }
    return !found && style && hides(style) ? MARKED : found;
}
