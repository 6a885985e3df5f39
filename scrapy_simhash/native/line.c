/* Buffers and collapsed text: see tree.h. */

#include "tree.h"

int grow(Buffer *buffer, size_t size)
{
    size_t room = 2 * buffer->room + size + 1024;
    char *grown = PyMem_Realloc(buffer->bytes, room);
    if (grown) {
        buffer->bytes = grown;
        buffer->room = room;
    }
    buffer->failed |= !grown;
    return grown != NULL;
}

/* White space of str.split. */
static int is_space(uint32_t c)
{
    if (c < 0x80)
        return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x1F);
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

/* Characters that blocks.width counts as three. */
static int is_wide(uint32_t c)
{
    static const uint32_t ranges[][2] = {
        {0x1100, 0x11FF}, {0x2E80, 0x2FDF}, {0x3005, 0x3007},   {0x3021, 0x3029},  {0x3038, 0x303B},
        {0x3041, 0x30FF}, {0x3105, 0x318E}, {0x31A0, 0x31BF},   {0x31F0, 0x31FF},  {0x3400, 0x4DBF},
        {0x4E00, 0x9FFF}, {0xA960, 0xA97F}, {0xAC00, 0xD7FF},   {0xF900, 0xFAFF},  {0xFF66, 0xFFDC},
        {0x20000, 0x3FFFF},
    };
    for (size_t at = 0; c >= 0x1100 && at < sizeof ranges / sizeof *ranges; at++)
        if (c <= ranges[at][1])
            return c >= ranges[at][0];
    return 0;
}

/* Read a character. Returns where the next one begins; NULL for invalid UTF-8, as far as its form
 * shows it. The rest is found when it is decoded. */
static const unsigned char *next_character(const unsigned char *at, uint32_t *character)
{
    uint32_t c = *at++;
    int further = c < 0x80 ? 0 : c < 0xC0 ? -1 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : c < 0xF8 ? 3 : -1;
    if (further < 0)
        return NULL;
    if (further)
        c &= 0x3Fu >> further;
    for (; further > 0; further--, at++) {
        if ((*at & 0xC0) != 0x80)
            return NULL;
        c = c << 6 | (*at & 0x3F);
    }
    *character = c;
    return at;
}

int add_to_line(Line *line, Buffer *text, const char *content)
{
    const unsigned char *at = (const unsigned char *)content, *next = at;
    uint32_t character;

    while (*at) {
        const unsigned char *word = at;
        Py_ssize_t width = 0;
        for (;; at = next) {
            for (; *at > ' ' && *at < 0x80; at++)
                width++;
            if (!*at)
                break;
            if (!(next = next_character(at, &character)))
                return 0;
            if (is_space(character))
                break;
            width += is_wide(character) ? 3 : 1;
        }
        if (at > word) {
            int spaced = line->pending && line->width;
            if (spaced && text)
                append(text, " ", 1);
            if (text)
                append(text, word, (size_t)(at - word));
            line->width += width + spaced;
            line->pending = 0;
        }
        if (*at) {
            line->pending = 1;
            at = next;
        }
    }
    return 1;
}
