/* Whether numbers of a text may tell its state: item.state.without_state. In doubt they do. */

#include "plain.h"

#define LONGEST 18 /* letters: of a longer word Python sees the end only */
#define NEAR 12    /* bytes in which a Chinese word stands behind a number, or ends before it */

#define TEN_THOUSAND "\xE4\xB8\x87"

/* In UTF-8: item.state._CHINESE, and "ago". */
static const char *chinese[] = {
    "\xE6\xB5\x8F\xE8\xA7\x88", "\xE9\x98\x85\xE8\xAF\xBB", "\xE7\x82\xB9\xE5\x87\xBB",
    "\xE8\xAF\x84\xE8\xAE\xBA", "\xE7\x82\xB9\xE8\xB5\x9E", "\xE5\x9B\x9E\xE5\xA4\x8D",
    "\xE6\x94\xB6\xE8\x97\x8F", "\xE8\xBD\xAC\xE5\x8F\x91", "\xE8\xB7\x9F\xE5\xB8\x96",
    "\xE5\x89\x8D",
};

static int is_letter(unsigned char c)
{
    return (unsigned char)((c | 0x20) - 'a') < 26;
}

/* Whether a word is one of these, which are in lower case, with a space at either end. */
static int is_among(const char *words, At word, At end)
{
    char spaced[LONGEST + 3] = " ";
    size_t size = (size_t)(end - word);

    if (size > LONGEST)
        return 1;
    for (size_t at = 0; at < size; at++)
        spaced[at + 1] = (char)(word[at] | 0x20);
    spaced[size + 1] = ' ';
    return strstr(words, spaced) != NULL;
}

/* Whether a character that is not ASCII may begin or end a word that counts: of European letters, or
 * a Chinese one that stands between these two places. */
static int may_count(unsigned char lead, At from, At to)
{
    for (At at = from; lead >= 0xE3 && lead <= 0xE9 && at < to; at++)
        for (size_t which = 0; which < sizeof chinese / sizeof *chinese; which++)
            if ((size_t)(to - at) >= strlen(chinese[which]) &&
                !memcmp(at, chinese[which], strlen(chinese[which])))
                return 1;
    return lead >= 0xC3 && lead <= 0xE1;
}

/* Whether a word behind a number may say what it counts, or that it is a time. Up to three: "k", and
 * another one before that. */
static int is_counted(At at, At end, const char *words)
{
    if (end - at >= 3 && !memcmp(at, TEN_THOUSAND, 3))
        at += 3;
    for (int turn = 0; turn < 3; turn++) {
        while (at < end && (*at == ' ' || *at == '\n' || *at == '+'))
            at++;
        if (at < end && *at >= 0x80)
            return may_count(*at, at, end - at < 2 * NEAR ? end : at + 2 * NEAR);
        At word = at;
        while (at < end && is_letter(*at))
            at++;
        if (at == word)
            return 0;
        if (is_among(words, word, at) || (at < end && *at >= 0x80 && may_count(*at, at, at)))
            return 1;
    }
    return 0;
}

/* Whether the word before a number may be the label of a count. */
static int is_labelled(At start, At at, const char *words)
{
    while (at > start && at[-1] && strchr(" \n:(|", at[-1]))
        at--;
    At end = at, from = at - start < 2 * NEAR ? start : at - 2 * NEAR;
    while (at > start && is_letter(at[-1]))
        at--;
    At lead = at;
    while (lead > start && lead[-1] >= 0x80 && (*--lead & 0xC0) == 0x80)
        ;
    if (lead < at && may_count(*lead, at < end ? at : from, at))
        return 1;
    return at < end && is_among(words, at, end);
}

int may_tell_state(At start, At end, const char *words)
{
    for (At at = start; at < end;) {
        At digits = at;
        while (at < end && (unsigned char)(*at - '0') < 10)
            at++;
        if (at == digits)
            at++;
        else if (is_counted(at, end, words) || is_labelled(start, digits, words))
            return 1;
    }
    return 0;
}
