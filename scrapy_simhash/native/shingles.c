/* The folded characters and the shingles of a text: features/tokens.py and features/shingles.py. */

#include "tokens.h"

#define WORD 64   /* characters; words are shorter */
#define CROWD 16  /* the mean distance a hash may be moved by insertion sort */
#define BEYOND_ASCII 0x8080808080808080ull
#define LETTERS 4 /* letters of a shingle in scripts without spaces */
#define PLACE 0x9E3779B97F4A7C15ull /* what tells tokens at different places apart */

#define ROOM_A_CHARACTER (2 * sizeof(uint64_t) + 3 * sizeof(uint32_t) + 1)

/* The widest come first, so that all are aligned. NULL without memory. */
void *take_room(Room *room, Py_ssize_t length)
{
    if (length >= PY_SSIZE_T_MAX / (Py_ssize_t)ROOM_A_CHARACTER || length > (1 << 30))
        return NULL;
    room->hashes = malloc((size_t)(length + 1) * ROOM_A_CHARACTER);
    room->length = length;
    if (room->hashes) {
        room->sorted = room->hashes + length;
        room->ends = (uint32_t *)(room->sorted + length);
        room->points = room->ends + 2 * length;
        room->letters = (uint8_t *)(room->points + length);
    }
    return room->hashes;
}

Py_ssize_t read_characters(At at, At end, uint32_t *points)
{
    uint32_t *next = points;
    while (at < end) {
        uint64_t eight = BEYOND_ASCII;
        if (end - at >= 8)
            memcpy(&eight, at, 8);
        if (eight & BEYOND_ASCII)
            *next++ = *at < 0x80 ? *at++ : read_character(&at, end);
        else
            for (int place = 0; place < 8; place++)
                *next++ = *at++;
    }
    return next - points;
}

int is_fold_table(const Py_buffer *table)
{
    return table->len >= 4 && table->len / 4 <= 0x110000 && !((uintptr_t)table->buf % 4);
}

static uint32_t fold_beyond(uint32_t point)
{
    if (point >= 0x20000 && point < 0x40000)
        return point | ALONE;
    return point >= 0xE0000 && point < 0xE1000 ? INVISIBLE : 0;
}

/* Fold characters in place. Returns how many are left; -1 if the text has to be normalised. */
Py_ssize_t fold(uint32_t *points, Py_ssize_t length, const Py_buffer *table, int normalised)
{
    const uint32_t *folds = table->buf;
    uint32_t last = (uint32_t)(table->len / 4 - 1), words = 0, symbols = 0;
    Py_ssize_t kept = 0;

    for (Py_ssize_t at = 0; at < length; at++) {
        uint32_t point = points[at], folded = folds[point < last ? point : last];
        if (folded >= SYMBOL) {
            if (folded >= COMPOSES && !normalised)
                return -1;
            if (folded == BEYOND)
                folded = fold_beyond(point);
            if (folded == INVISIBLE)
                continue;
            folded &= ~COMPOSES;
            symbols |= folded;
        }
        words |= folded < SYMBOL ? folded : 0;
        points[kept++] = folded;
    }
    for (Py_ssize_t at = 0; symbols >= SYMBOL && at < kept; at++)
        if (points[at] >= SYMBOL)
            points[at] = words ? 0 : points[at] ^ (SYMBOL | ALONE);
    return kept;
}

/* Fold and hash the tokens of a text of short words only, without a branch at the end of words,
 * which the processor can't predict. Returns how many; -1 for other texts. */
static Py_ssize_t hash_words(Room *room, Py_ssize_t length, const Py_buffer *table,
                             const Hashing *with)
{
    const uint32_t *folds = table->buf;
    uint32_t last = (uint32_t)(table->len / 4 - 1);
    uint64_t powers[WORD], power = 1, hash = 0;
    uint64_t tokens = 0, place = 0, most = with->window < WORD ? (uint64_t)with->window : WORD;

    for (int exponent = 0; exponent < WORD; exponent++, power *= with->base)
        powers[exponent] = power;
    for (Py_ssize_t at = 0; at < length; at++) {
        uint32_t point = room->points[at];
        if (point >= last || place >= most)
            return -1;
        uint32_t folded = folds[point];
        if (folded >= ALONE) {
            if (folded < SYMBOL || folded >= COMPOSES)
                return -1;
            folded = 0; /* a picture beside words */
        }
        hash += folded * powers[place];
        room->hashes[tokens] = hash;
        uint64_t inside = -(uint64_t)(folded != 0), next = (place + 1) & inside;
        tokens += next < place; /* it is 0 where a word has ended */
        hash &= inside;
        place = next;
    }
    tokens += place != 0;
    for (uint64_t at = 0; with->second && at < tokens; at++)
        room->digest += mix64(room->hashes[at] + (at + 1) * PLACE);
    memset(room->letters, 0, (size_t)tokens);
    return tokens ? (Py_ssize_t)tokens : -1; /* pictures may be all there is */
}

/* Hash tokens, and note letters of scripts without spaces. What is beyond the window of a token
 * counts in the digest only. Returns how many. */
static Py_ssize_t hash_tokens(Room *room, Py_ssize_t length, const Hashing *with)
{
    const uint32_t *at = room->points, *end = at + length;
    Py_ssize_t tokens = 0;

    while (at < end) {
        uint32_t character = *at++;
        if (!character)
            continue;
        uint64_t hash = character, beyond = 0, power = with->base;
        room->letters[tokens] = character >= CLUSTER;
        for (Py_ssize_t place = 1; at < end; place++, at++) {
            uint32_t next = *at;
            if (!joins(character, next))
                break;
            *(place < with->window ? &hash : &beyond) += next * power;
            power *= with->base;
            character = next;
        }
        room->hashes[tokens++] = hash;
        room->digest += mix64(hash + (uint64_t)tokens * PLACE + mix64(beyond));
    }
    return tokens;
}

/* Replace tokens by their pairs or fours. Returns how many. */
static Py_ssize_t pair_tokens(const Room *room, Py_ssize_t tokens, const Hashing *with)
{
    uint64_t *hashes = room->hashes;
    for (Py_ssize_t at = 0; at + 1 < tokens; at++) {
        uint64_t value = hashes[at] * with->pair + hashes[at + 1];
        for (int further = 2; room->letters[at] && further < LETTERS; further++)
            value = value * with->pair + (at + further < tokens ? hashes[at + further] : 0);
        hashes[at] = mix64(value);
    }
    return tokens ? tokens - 1 : 0;
}

static int in_order(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

/* Sort hashes into buckets, one to two times as many, so that few are out of order. */
static void sort_roughly(const Room *room, Py_ssize_t count)
{
    uint32_t *ends = room->ends, start = 0;
    int shift = 63;
    while (((Py_ssize_t)1 << (64 - shift)) < count)
        shift--;
    size_t buckets = (size_t)1 << (64 - shift);

    memset(ends, 0, buckets * sizeof *ends);
    for (Py_ssize_t at = 0; at < count; at++)
        ends[room->hashes[at] >> shift]++;
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        uint32_t size = ends[bucket];
        ends[bucket] = start;
        start += size;
    }
    for (Py_ssize_t at = 0; at < count; at++)
        room->sorted[ends[room->hashes[at] >> shift]++] = room->hashes[at];
}

/* Sort evenly spread hashes, the distinct ones first. Returns how many. */
static Py_ssize_t sort_distinct(const Room *room, Py_ssize_t count)
{
    uint64_t *sorted = room->sorted;
    Py_ssize_t distinct = 0, moves = CROWD * count;

    if (count)
        sort_roughly(room, count);
    for (Py_ssize_t end = 1; end < count; end++) {
        uint64_t value = sorted[end];
        Py_ssize_t at = end;
        for (; at && sorted[at - 1] > value; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = value;
        moves -= end - at;
        if (moves < 0) { /* the hashes were chosen to collide */
            qsort(sorted, (size_t)count, sizeof *sorted, in_order);
            break;
        }
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        sorted[distinct] = sorted[at];
        distinct += at + 1 == count || sorted[at] != sorted[at + 1];
    }
    return distinct;
}

Py_ssize_t make_shingles(Room *room, Py_ssize_t length, const Py_buffer *table, int normalised,
                         const Hashing *with)
{
    room->digest = 0;
    room->length = length;
    Py_ssize_t count = hash_words(room, length, table, with);
    if (count < 0 && (count = fold(room->points, length, table, normalised)) >= 0)
        count = hash_tokens(room, count, with);
    return count < 0 ? -1 : sort_distinct(room, pair_tokens(room, count, with));
}
