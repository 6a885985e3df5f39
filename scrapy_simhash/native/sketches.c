/* Sketches of texts; sketches and keys of shingles, and what two sets have in common:
 * simhash/shingles.py, features/shingles.py, keys/bands.py and simhash/measure.py.
 */

#include "tokens.h"

#define MOST_BINS 512 /* as Bands allows */
#define PORTION 32    /* hashes between two checks whether sets are too different */

/* A number in a buffer, which may not be aligned. */
static uint64_t number(const Py_buffer *numbers, Py_ssize_t at)
{
    uint64_t value;
    memcpy(&value, (const char *)numbers->buf + 8 * at, sizeof value);
    return value;
}

/* Counts of ones at each of 64 places; digits[i] has the i-th binary digits of all counts. */
typedef struct {
    int used;
    uint64_t digits[64];
} Counts;

/* Add two words to a third one. Returns the carry. */
static uint64_t carry_save(uint64_t *sum, uint64_t a, uint64_t b)
{
    uint64_t either = *sum ^ a, carry = (*sum & a) | (either & b);
    *sum = either ^ b;
    return carry;
}

/* Through all digits: where a carry ends can't be predicted. */
static void add_at(Counts *counts, int digit, uint64_t carry)
{
    for (; digit < counts->used; digit++) {
        uint64_t before = counts->digits[digit];
        counts->digits[digit] ^= carry;
        carry &= before;
    }
}

/* Harley and Seal: eight words take seven additions and a single carry. */
static void add_eight(Counts *counts, const uint64_t *words)
{
    uint64_t *ones = counts->digits, *twos = ones + 1, *fours = ones + 2;
    uint64_t a = carry_save(ones, words[0], words[1]);
    uint64_t b = carry_save(ones, words[2], words[3]);
    uint64_t c = carry_save(ones, words[4], words[5]);
    uint64_t d = carry_save(ones, words[6], words[7]);
    a = carry_save(twos, a, b);
    b = carry_save(twos, c, d);
    add_at(counts, 3, carry_save(fours, a, b));
}

/* The places whose count is more than a number; *equal: those where it is that number. */
static uint64_t more_than(const Counts *counts, uint64_t limit, uint64_t *equal)
{
    uint64_t more = 0;
    *equal = ~(uint64_t)0;
    for (int digit = counts->used; digit-- > 0;) {
        uint64_t ones = counts->digits[digit];
        if (limit >> digit & 1) {
            *equal &= ones;
        } else {
            more |= *equal & ones;
            *equal &= ~ones;
        }
    }
    return more;
}

/* The ties of a word of the fingerprint whose first bit has that number. */
static uint64_t break_ties(uint64_t ties, int first, const Py_buffer *shingles, uint64_t second)
{
    Py_ssize_t count = shingles->len / 8, row = 0;
    uint64_t broken = 0;
    for (int bit = 0; bit < 64; bit++) {
        if (!(ties >> bit & 1))
            continue;
        uint64_t start = (uint64_t)(first + bit) << 57; /* of 128 parts */
        while (row < count && number(shingles, row) < start)
            row++;
        uint64_t deciding = mix64(number(shingles, row < count ? row : 0) + second);
        broken |= deciding & (uint64_t)1 << bit;
    }
    return broken;
}

/* The low and the high 64 bits of the fingerprint. */
static void vote(const Py_buffer *shingles, uint64_t second, uint64_t made[2])
{
    Counts counts[2];
    Py_ssize_t count = shingles->len / 8, at = 0;
    uint64_t words[2][8], ties;

    memset(counts, 0, sizeof counts);
    int used = 3;
    while ((uint64_t)count >> used)
        used++;
    counts[0].used = counts[1].used = used;
    for (; count - at >= 8; at += 8) {
        for (int next = 0; next < 8; next++) {
            words[0][next] = number(shingles, at + next);
            words[1][next] = mix64(words[0][next] + second);
        }
        add_eight(&counts[0], words[0]);
        add_eight(&counts[1], words[1]);
    }
    for (; at < count; at++) {
        add_at(&counts[0], 0, number(shingles, at));
        add_at(&counts[1], 0, mix64(number(shingles, at) + second));
    }
    for (int word = 0; word < 2; word++) {
        made[word] = more_than(&counts[word], (uint64_t)count / 2, &ties);
        if (count % 2 == 0)
            made[word] |= break_ties(ties, 64 * word, shingles, second);
    }
}

/* A text in UTF-8, and where its sketch ends; -1 if it has to be normalised. */
typedef struct {
    At at;
    Py_ssize_t size, end;
} Text;

/* Append the sketches of texts: fingerprint, digest and shingles, or nothing if there are none. The
 * first two are 0 if `second` is. */
static void sketch_texts(Text *texts, Py_ssize_t count, Room *room, const Py_buffer *table,
                         int normalised, const Hashing *with, Buffer *made)
{
    for (Text *text = texts; text < texts + count; text++) {
        Py_ssize_t length = read_characters(text->at, text->at + text->size, room->points);
        Py_ssize_t hashes = make_shingles(room, length, table, normalised, with);
        Py_buffer shingles = {.buf = room->sorted, .len = 8 * hashes};
        uint64_t words[3] = {0, 0, with->second ? room->digest : 0};
        text->end = -1;
        if (hashes < 0)
            continue;
        if (hashes && with->second)
            vote(&shingles, with->second, words);
        if (hashes) {
            append(made, words, sizeof words);
            append(made, room->sorted, (size_t)shingles.len);
        }
        text->end = (Py_ssize_t)made->used;
    }
}

/* Where the texts are. Returns the bytes of all, and of the longest one; -1 with an exception. */
static Py_ssize_t find_texts(PyObject *given, Text *texts, Py_ssize_t *longest)
{
    Py_ssize_t total = 0;
    for (Py_ssize_t at = 0; at < PyTuple_Size(given); at++) {
        char *start;
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(given, at), &start, &texts[at].size))
            return -1;
        texts[at].at = (At)start;
        total += texts[at].size;
        *longest = texts[at].size > *longest ? texts[at].size : *longest;
    }
    return total;
}

PyObject *core_sketches(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *given, *made = NULL;
    Py_buffer table;
    Hashing with;
    Room room = {0};
    Buffer found = {0};
    int normalised;

    if (!PyArg_ParseTuple(arguments, "O!y*p(KKn)K:sketches", &PyTuple_Type, &given, &table,
                          &normalised, &with.base, &with.pair, &with.window, &with.second))
        return NULL;
    Py_ssize_t count = PyTuple_Size(given), longest = 0, total = -1;
    Text *texts = PyMem_Calloc((size_t)count + 1, sizeof *texts);
    if (!is_fold_table(&table) || with.window < 1)
        PyErr_SetString(PyExc_ValueError, "not a fold table, or a window of no character");
    else if (!texts)
        PyErr_NoMemory();
    else
        total = find_texts(given, texts, &longest);
    if (total >= 0 && !take_room(&room, longest)) {
        PyErr_NoMemory();
    } else if (total >= 0) {
        PyThreadState *others = total >= LONG ? PyEval_SaveThread() : NULL;
        sketch_texts(texts, count, &room, &table, normalised, &with, &found);
        if (others)
            PyEval_RestoreThread(others);
        made = found.failed ? PyErr_NoMemory() : PyList_New(0);
    }
    for (Py_ssize_t at = 0, start = 0; made && at < count; at++) {
        Py_ssize_t end = texts[at].end;
        PyObject *sketch = end < 0 ? Py_NewRef(Py_None)
                                   : PyBytes_FromStringAndSize(found.bytes + start, end - start);
        if (!sketch || PyList_Append(made, sketch))
            Py_CLEAR(made);
        Py_XDECREF(sketch);
        start = end < 0 ? start : end;
    }
    free(found.bytes);
    free(room.hashes);
    PyMem_Free(texts);
    PyBuffer_Release(&table);
    return made;
}

PyObject *core_minhash(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Py_buffer shingles;
    uint8_t sketch[256] = {0};

    if (!PyArg_ParseTuple(arguments, "y*:minhash", &shingles))
        return NULL;
    for (Py_ssize_t at = shingles.len / 8; at-- > 0;) { /* the least hash of a bin comes last */
        uint64_t hash = number(&shingles, at);
        sketch[hash >> 56] = (uint8_t)((hash >> 16) % 255 + 1);
    }
    PyBuffer_Release(&shingles);
    return PyBytes_FromStringAndSize((char *)sketch, sizeof sketch);
}

/* Without branches in the loop: which of two hashes is less can't be predicted. */
Py_ssize_t count_common(const Py_buffer *a, const Py_buffer *b, double least)
{
    Py_ssize_t ends[2] = {a->len / 8, b->len / 8}, one = 0, other = 0, common = 0;
    double all = (double)(ends[0] + ends[1]), enough = least * all / (1 + least) - 1e-6;
    while (one < ends[0] && other < ends[1]) {
        Py_ssize_t stop = one + PORTION < ends[0] ? one + PORTION : ends[0];
        while (one < stop && other < ends[1]) {
            uint64_t x = number(a, one), y = number(b, other);
            common += x == y;
            one += x <= y;
            other += y <= x;
        }
        if ((double)(one + other - 2 * common) > all - 2 * enough)
            return -1;
    }
    return (double)common < enough ? -1 : common;
}

PyObject *core_common(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Py_buffer mine, other;
    PyObject *others, *counts = NULL;
    double least;

    if (!PyArg_ParseTuple(arguments, "y*O!d:common", &mine, &PyList_Type, &others, &least))
        return NULL;
    if (!(least >= 0 && least <= 1))
        PyErr_SetString(PyExc_ValueError, "not a similarity");
    else
        counts = PyList_New(0);
    for (Py_ssize_t place = 0; counts && place < PyList_Size(others); place++) {
        PyObject *count = NULL;
        if (!PyObject_GetBuffer(PyList_GetItem(others, place), &other, PyBUF_SIMPLE)) {
            count = PyLong_FromSsize_t(count_common(&mine, &other, least));
            PyBuffer_Release(&other);
        }
        if (!count || PyList_Append(counts, count))
            Py_CLEAR(counts);
        Py_XDECREF(count);
    }
    PyBuffer_Release(&mine);
    return counts;
}

/* The index of the first hash of each bin, or -1. */
static void fill_bins(const Py_buffer *shingles, const Py_buffer *starts, Py_ssize_t *chosen)
{
    Py_ssize_t count = shingles->len / 8, bins = starts->len / 8, at = 0;
    for (Py_ssize_t bin = 0; bin < bins; bin++) {
        while (at < count && number(shingles, at) < number(starts, bin))
            at++;
        int filled = at < count &&
                     (bin + 1 == bins || number(shingles, at) < number(starts, bin + 1));
        chosen[bin] = filled ? at : -1;
    }
}

/* What keys.bands._bins returns, and the number of bands. */
typedef struct {
    Py_buffer starts, orders, factors;
    Py_ssize_t bands;
} Bins;

static int are_bins(const Bins *with)
{
    Py_ssize_t bins = with->starts.len / 8;
    return bins <= MOST_BINS && with->bands > 0 && with->bands <= bins &&
           with->factors.len / 8 == bins && with->orders.len / 8 == bins * bins;
}

/* One key for each band; -1 without hashes. */
static int make_bands(const Py_buffer *shingles, const Bins *with, int32_t *keys)
{
    Py_ssize_t bins = with->starts.len / 8, chosen[MOST_BINS];
    uint64_t sums[MOST_BINS] = {0};

    fill_bins(shingles, &with->starts, chosen);
    for (Py_ssize_t bin = 0; bin < bins; bin++) {
        /* An empty bin takes the value of another one, the first in an order of its own. */
        Py_ssize_t turn = 0;
        uint64_t from = (uint64_t)bin;
        while (from < (uint64_t)bins && chosen[from] < 0 && ++turn < bins)
            from = number(&with->orders, bin * bins + turn);
        if (from >= (uint64_t)bins || chosen[from] < 0)
            return -1;
        sums[bin % with->bands] += number(shingles, chosen[from]) * number(&with->factors, bin);
    }
    for (Py_ssize_t band = 0; band < with->bands; band++)
        keys[band] = (int32_t)(uint32_t)mix64(sums[band]);
    return 0;
}

PyObject *core_bands(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Py_buffer shingles;
    Bins with;
    int32_t keys[MOST_BINS];
    PyObject *made = NULL;

    if (!PyArg_ParseTuple(arguments, "y*y*y*y*n:bands", &shingles, &with.starts, &with.orders,
                          &with.factors, &with.bands))
        return NULL;
    if (!are_bins(&with) || make_bands(&shingles, &with, keys))
        PyErr_SetString(PyExc_ValueError, "no hashes, or wrong bins");
    else
        made = PyBytes_FromStringAndSize((char *)keys, with.bands * 4);
    PyBuffer_Release(&shingles);
    PyBuffer_Release(&with.starts);
    PyBuffer_Release(&with.orders);
    PyBuffer_Release(&with.factors);
    return made;
}
