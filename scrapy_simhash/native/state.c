/* Whether numbers of a text may tell its state: item.state.without_state. In doubt they do. */

#include "plain.h"

#define LONGEST 24 /* bytes of a word */
#define BEHIND 9   /* bytes in which a Chinese word stands behind a number */
#define BEFORE 12  /* and before it */
#define SINCE 32   /* the same for "il y a environ" */

#define TEN_THOUSAND "\xE4\xB8\x87"

/* In UTF-8: item.state._CHINESE, and "ago". */
static const char *chinese[] = {
    "\xE6\xB5\x8F\xE8\xA7\x88", "\xE9\x98\x85\xE8\xAF\xBB", "\xE7\x82\xB9\xE5\x87\xBB",
    "\xE8\xAF\x84\xE8\xAE\xBA", "\xE7\x82\xB9\xE8\xB5\x9E", "\xE5\x9B\x9E\xE5\xA4\x8D",
    "\xE6\x94\xB6\xE8\x97\x8F", "\xE8\xBD\xAC\xE5\x8F\x91", "\xE8\xB7\x9F\xE5\xB8\x96",
    "\xE5\x89\x8D",
};

/* item.state._SINCE */
static const char since[] =
    " sekunde sekunden minute minuten minutes stunde stunden tag tage tagen segundo segundos seconde "
    "secondes minuto minutos hora horas heure heures dia dias d\xC3\xAD" "a d\xC3\xAD" "as jour jours ";

static int is_ascii_letter(unsigned char c)
{
    return (unsigned char)((c | 0x20) - 'a') < 26;
}

/* Whether it is a letter of Latin-1, in two bytes; not one that is folded to two letters. */
static int is_latin(unsigned char lead, unsigned char next)
{
    return lead == 0xC3 && next != 0x97 && next != 0xB7 && next != 0x9F;
}

static At behind_word(At at, At end)
{
    while (at < end && (is_ascii_letter(*at) || (end - at > 1 && is_latin(at[0], at[1]))))
        at += *at < 0x80 ? 1 : 2;
    return at;
}

static At start_of_word(At start, At at)
{
    while (at > start && (is_ascii_letter(at[-1]) || (at - start > 1 && is_latin(at[-2], at[-1]))))
        at -= at[-1] < 0x80 ? 1 : 2;
    return at;
}

/* Whether a word is one of these, which are in lower case, with a space at either end. */
static int is_among(const char *words, At word, At end)
{
    char spaced[LONGEST + 3] = " ";
    size_t size = (size_t)(end - word);

    for (size_t at = 0; at < size && size <= LONGEST; at++)
        spaced[at + 1] = (char)(word[at] == 0xC3 ? word[at] : word[at] | 0x20);
    spaced[size <= LONGEST ? size + 1 : 1] = ' ';
    return size && size <= LONGEST && strstr(words, spaced) != NULL;
}

/* Whether a character that is no letter of Latin-1 may be of a word that counts: of another European
 * one, or of a Chinese one between these two places. */
static int may_count(unsigned char lead, At from, At to)
{
    for (At at = from; lead >= 0xE3 && lead <= 0xE9 && at < to; at++)
        for (size_t which = 0; which < sizeof chinese / sizeof *chinese; which++)
            if ((size_t)(to - at) >= strlen(chinese[which]) &&
                !memcmp(at, chinese[which], strlen(chinese[which])))
                return 1;
    return lead >= 0xC3 && lead <= 0xE1;
}

/* Whether words before a number may be "vor", "hace", "há" or "il y a". */
static int may_be_since(At start, At at)
{
    for (At from = at - start < SINCE ? start : at - SINCE; at - from > 2; from++) {
        char folded[3] = {(char)(from[0] | 0x20), (char)(from[1] | 0x20), (char)(from[2] | 0x20)};
        if (!memcmp(folded, "vor", 3) || !memcmp(folded, "hac", 3) || !memcmp(folded, "h\xE3", 2) ||
            !memcmp(folded, "y a", 3))
            return 1;
    }
    return 0;
}

/* Whether a word behind a number may say what it counts, or that it is a time. Up to three: "k", and
 * another one before that. */
static int is_counted(At start, At digits, At at, At end, const char *words)
{
    if (end - at >= 3 && !memcmp(at, TEN_THOUSAND, 3))
        at += 3;
    for (int turn = 0; turn < 3; turn++) {
        while (at < end && (*at == ' ' || *at == '\n' || *at == '+'))
            at++;
        At word = at;
        at = behind_word(at, end);
        if (at < end && *at >= 0x80 && may_count(*at, at, end - at < BEHIND ? end : at + BEHIND))
            return 1;
        if (at == word)
            return 0;
        if (is_among(words, word, at) || (is_among(since, word, at) && may_be_since(start, digits)))
            return 1;
    }
    return 0;
}

/* Whether the word before a number may be the label of a count. */
static int is_labelled(At start, At at, const char *words)
{
    while (at > start && at[-1] && strchr(" \n:(|", at[-1]))
        at--;
    At end = at, from = at - start < BEFORE ? start : at - BEFORE;
    At word = start_of_word(start, at), lead = word;
    while (lead > start && lead[-1] >= 0x80 && (*--lead & 0xC0) == 0x80)
        ;
    if (lead < word && may_count(*lead, from, end))
        return 1;
    return is_among(words, word, end);
}

int may_tell_state(At start, At end, const char *words)
{
    for (At at = start; at < end;) {
        At digits = at;
        while (at < end && (unsigned char)(*at - '0') < 10)
            at++;
        if (at == digits)
            at++;
        else if (is_counted(start, digits, at, end, words) || is_labelled(start, digits, words))
            return 1;
    }
    return 0;
}
