/* A text normalised for its numbers: item.numbers.plain. */

#include "plain.h"

/* Of a longer text normal() may leave the end as written. In bytes, at least as many as characters. */
#define MOST_NORMALISED (1 << 15)

/* Read a character and go behind it; anything for invalid UTF-8. */
static uint32_t read_character(At *at, At end)
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

Py_ssize_t read_characters(At at, At end, uint32_t *points)
{
    uint32_t *next = points;
    while (at < end)
        *next++ = *at < 0x80 ? *at++ : read_character(&at, end);
    return next - points;
}

/* What NFKC makes of a character, if it stays what it is or becomes ASCII characters, none of which
 * can be composed with others; else NULL. Characters are never changed in later versions of Unicode:
 * only what is assigned counts. */
static const char *plain(uint32_t c)
{
    static const uint32_t same[][2] = {
        {0x4E00, 0x9FEF},   {0x80, 0x9F},       {0xA1, 0xA7},     {0xA9, 0xA9},     {0xAB, 0xAE},
        {0xB0, 0xB1},       {0xB6, 0xB7},       {0xBB, 0xBB},     {0xBF, 0x131},    {0x134, 0x13E},
        {0x141, 0x148},     {0x14A, 0x17E},     {0x180, 0x1C3},   {0x386, 0x386},   {0x388, 0x38A},
        {0x38E, 0x3A1},     {0x3A3, 0x3CE},     {0x400, 0x482},   {0x48A, 0x52F},   {0x5D0, 0x5EA},
        {0x60C, 0x60C},     {0x61F, 0x61F},
        {0x620, 0x64A},     {0x660, 0x66F},     {0x671, 0x674},   {0x679, 0x6D3},   {0x1E02, 0x1E99},
        {0x1EA0, 0x1EF9},   {0x200B, 0x2010},   {0x2012, 0x2016}, {0x2018, 0x2023}, {0x2027, 0x202E},
        {0x2030, 0x2032},   {0x2038, 0x203B},   {0x2060, 0x2064}, {0x20A9, 0x20BF}, {0x2190, 0x21FF}, {0x2212, 0x2212}, {0x22C5, 0x22C5}, {0x2500, 0x27BF},
        {0x3001, 0x3029},   {0x3041, 0x3096},   {0x30A0, 0x30FE}, {0x3400, 0x4DB5}, {0xAC00, 0xD7A3},
        {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0x1F1E6, 0x1F1FF}, {0x1F300, 0x1F64F},
        {0x1F680, 0x1F6D2}, {0x1F90C, 0x1F9FF},
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

/* Normalise a text in UTF-8. Returns where the new one, which is not longer, ends; NULL to leave it to
 * Python. */
unsigned char *plain_text(At at, At end, unsigned char *made)
{
    int is_long = end - at > MOST_NORMALISED;

    while (at < end) {
        if (*at < 0x80) {
            *made++ = *at++;
            continue;
        }
        At start = at;
        uint32_t character = read_character(&at, end);
        const char *found;
        if (character == 0x2026) {
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
