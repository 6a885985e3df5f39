/* Whether numbers of a text may tell its state: item.state.without_state. In doubt they do. */

#include "plain.h"

#define SET SET_OF_SIGNS
#define NEAR_WORDS 3  /* words before a number that may say what it counts */
#define FAR_WORDS 8   /* or since when a page is as it is */
#define BEHIND_WORDS 6 /* words behind a number that may do so, with "k" */
#define BEHIND 9      /* bytes in which a Chinese word begins behind a number */
#define BEFORE 30     /* and before it */
#define RATING 12     /* bytes between a rating and the most it can be */

static int is_ascii_letter(unsigned char c)
{
    return (unsigned char)((c | 0x20) - 'a') < 26;
}

/* Whether it is a letter of Latin-1, in two bytes; not one that is folded to two letters. */
static int is_latin(unsigned char lead, unsigned char next)
{
    return lead == 0xC3 && next != 0x97 && next != 0xB7 && next != 0x9F;
}

/* Of a European language whose words are not known here, or of another script with spaces. */
static int is_other_letter(unsigned char lead)
{
    return (lead >= 0xC3 && lead <= 0xE1) || lead == 0xF0;
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

/* Whether the hash of a text, in lower case, is in a set: corpus.plain._set_of. */
static int is_in(const unsigned char *set, At at, At end)
{
    unsigned hash = 0;
    for (; at < end; at++)
        hash = hash * 31 + (*at < 0xC3 ? *at | 0x20 : *at);
    hash &= SET * 8 - 1;
    return set[hash >> 3] >> (hash & 7) & 1;
}

/* Whether a Chinese, Japanese or Korean word that counts may begin between two places. */
static int has_unspaced(const unsigned char *set, At from, At to, At end)
{
    for (At at = from; at < to; at++)
        if (*at >= 0xE3 && *at <= 0xED &&
            ((end - at >= 3 && is_in(set, at, at + 3)) || (end - at >= 6 && is_in(set, at, at + 6))))
            return 1;
    return 0;
}

static int is_one_of(unsigned char c, const char *characters)
{
    return c && strchr(characters, c) != NULL;
}

/* Whether words behind a number may say what it counts, or that it is a time. */
static int is_counted(At at, At end, const unsigned char *signs)
{
    if (has_unspaced(signs + 2 * SET, at, end - at < BEHIND ? end : at + BEHIND, end))
        return 1;
    At line = at + 5;
    for (int words = 0; at < end && words < BEHIND_WORDS;) {
        At word = at;
        at = behind_word(at, end);
        if (at > word && is_in(signs, word, at))
            return 1;
        if (at > word) {
            words++;
            continue;
        }
        if (is_other_letter(*at))
            return 1;
        if (is_one_of(*at, "0123456789():|,.;!?/") || (*at == '\n' && at >= line))
            return 0;
        at++;
    }
    return 0;
}

/* Whether words before a number may be the label of a count, or of the time of a change. */
static int is_labelled(At start, At at, const unsigned char *signs)
{
    At from = at - start < BEFORE ? start : at - BEFORE;
    if (has_unspaced(signs + 2 * SET, from, at, at))
        return 1;
    while (at > start && is_one_of(at[-1], " \n:(|"))
        at--;
    for (int words = 0; at > start && words < FAR_WORDS;) {
        At end = at;
        at = start_of_word(start, at);
        if (at < end) {
            if (is_in(signs + SET, at, end) || (words < NEAR_WORDS && is_in(signs, at, end)))
                return 1;
            words++;
            continue;
        }
        if (is_one_of(at[-1], "\n|.;!?()"))
            return 0;
        while (--at > start && (*at & 0xC0) == 0x80)
            ;
        if (is_other_letter(*at))
            return 1;
    }
    return 0;
}

/* Whether a fraction stands in front of the most that a rating can be. */
static int may_rate(At start, At digits, At at, At end)
{
    if (digits - start < 2 || !is_one_of(digits[-1], ".,"))
        return 0;
    for (At first = at; at < end && at - first < 2 * RATING; at++)
        if ((unsigned char)(*at - '0') < 10)
            return *at == '5' || (*at == '1' && end - at > 1 && at[1] == '0');
    return 0;
}

/* Whether there is one of item.state.SIGNS_OF_ONE. */
static int may_tell_one(At start, At end)
{
    static const char *signs[] = {"ago", "or eine", "ace un", "y a un", "\xC3\xA1 um"};
    for (At at = start; end - at > 2; at++)
        for (size_t which = 0; which < sizeof signs / sizeof *signs; which++)
            if (at[0] == (unsigned char)signs[which][0] && at[1] == (unsigned char)signs[which][1] &&
                (size_t)(end - at) >= strlen(signs[which]) &&
                !memcmp(at, signs[which], strlen(signs[which])))
                return 1;
    return 0;
}

int may_tell_state(At start, At end, const unsigned char *signs)
{
    for (At at = start; at < end;) {
        At digits = at;
        while (at < end && (unsigned char)(*at - '0') < 10)
            at++;
        if (at == digits)
            at++;
        else if (is_counted(at, end, signs) || is_labelled(start, digits, signs) ||
                 may_rate(start, digits, at, end))
            return 1;
    }
    return may_tell_one(start, end);
}
