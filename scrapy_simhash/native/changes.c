/* Where two similar texts differ: features/changes.py. */

#include "tokens.h"

#define CHANCE 3  /* fewer shared pairs between two differing places are chance */
#define PLACES 64 /* places of a pair of words that are looked at */

/* The words of a text: folded characters, where each word begins and ends, and its hash. */
typedef struct {
    uint32_t *points, *starts, *ends;
    uint64_t *hashes;
    Py_ssize_t count;
    double words; /* an ideograph is half of one */
} Words;

/* The pairs of words of a text: each distinct one has a number, and its places in ascending order. */
typedef struct {
    const Words *of;
    uint32_t *heads, *next, *numbers, *offsets, *places;
    uint32_t mask, distinct;
} Pairs;

static int read_words(Words *words, PyObject *text, const Py_buffer *table, int normalised)
{
    Py_ssize_t length = PyUnicode_GetLength(text);

    *words = (Words){0};
    if (length > (1 << 28) ||
        !(words->hashes = PyMem_Malloc((size_t)(length + 1) * (sizeof(uint64_t) + 3 * sizeof(uint32_t))))) {
        PyErr_NoMemory();
        return -2;
    }
    words->points = (uint32_t *)(words->hashes + length + 1);
    words->starts = words->points + length + 1;
    words->ends = words->starts + length + 1;
    if (!PyUnicode_AsUCS4(text, words->points, length, 0))
        return -2;
    Py_ssize_t left = fold(words->points, length, table, normalised);
    if (left < 0)
        return -1;
    const uint32_t *at = words->points, *end = at + left;
    while (at < end) {
        uint32_t character = *at;
        if (!character) {
            at++;
            continue;
        }
        uint64_t hash = 0;
        const uint32_t *start = at;
        do {
            character = *at++;
            hash = (hash ^ character) * 0x9E3779B97F4A7C15u;
        } while (at < end && joins(character, *at));
        words->starts[words->count] = (uint32_t)(start - words->points);
        words->ends[words->count] = (uint32_t)(at - words->points);
        words->hashes[words->count++] = hash;
        words->words += at - start == 1 && (*start & (ALONE - 1)) > 0x7F ? 0.5 : 1;
    }
    return 0;
}

static int are_equal(const Words *one, Py_ssize_t at, const Words *other, Py_ssize_t place)
{
    size_t length = one->ends[at] - one->starts[at];
    return one->hashes[at] == other->hashes[place] &&
           length == other->ends[place] - other->starts[place] &&
           !memcmp(one->points + one->starts[at], other->points + other->starts[place],
                   length * sizeof(uint32_t));
}

static uint32_t bucket_of(const Pairs *pairs, const Words *words, Py_ssize_t at)
{
    return (uint32_t)(mix64(words->hashes[at] * 3 + words->hashes[at + 1]) >> 32) & pairs->mask;
}

/* The first place of a pair, plus one; 0 if it is nowhere. */
static uint32_t find_pair(const Pairs *pairs, const Words *words, Py_ssize_t at)
{
    uint32_t found = pairs->heads[bucket_of(pairs, words, at)];
    while (found && !(are_equal(words, at, pairs->of, found - 1) &&
                      are_equal(words, at + 1, pairs->of, found)))
        found = pairs->next[found - 1];
    return found;
}

static int read_pairs(Pairs *pairs, const Words *words)
{
    size_t count = words->count > 1 ? (size_t)words->count - 1 : 0, size = 16;

    while (size < 2 * count)
        size *= 2;
    *pairs = (Pairs){.of = words, .mask = (uint32_t)(size - 1)};
    if (!(pairs->heads = PyMem_Calloc(size + 4 * count + 2, sizeof(uint32_t)))) {
        PyErr_NoMemory();
        return -1;
    }
    pairs->next = pairs->heads + size;
    pairs->numbers = pairs->next + count;
    pairs->places = pairs->numbers + count;
    pairs->offsets = pairs->places + count;
    for (uint32_t at = 0; at < count; at++) {
        uint32_t first = find_pair(pairs, words, at);
        if (first) {
            pairs->numbers[at] = pairs->numbers[first - 1];
        } else {
            uint32_t *head = &pairs->heads[bucket_of(pairs, words, at)];
            pairs->next[at] = *head;
            *head = at + 1;
            pairs->numbers[at] = pairs->distinct++;
        }
        pairs->offsets[pairs->numbers[at] + 1]++;
    }
    for (uint32_t number = 0; number < pairs->distinct; number++)
        pairs->offsets[number + 1] += pairs->offsets[number];
    /* From the end, so that each offset ends up as the start of its places. */
    for (uint32_t at = (uint32_t)count; at-- > 0;)
        pairs->places[--pairs->offsets[pairs->numbers[at] + 1]] = at;
    /* Now offsets[number + 1] is the start of the places of `number`; the last one ends them all. */
    return 0;
}

/* The places of a pair of another text that has it. */
static const uint32_t *places_of(const Pairs *pairs, const Words *words, Py_ssize_t at, size_t *count)
{
    uint32_t number = pairs->numbers[find_pair(pairs, words, at) - 1];
    uint32_t start = pairs->offsets[number + 1];
    uint32_t end = number + 1 < pairs->distinct ? pairs->offsets[number + 2]
                                                : (uint32_t)(pairs->of->count - 1);
    *count = end - start;
    return pairs->places + start;
}

typedef struct {
    Py_ssize_t from, to;
} Range;

/* The old words between two pairs, where these are nearest to each other; -1 for an end of the text. */
static Range between(const Pairs *pairs, const Words *new, Py_ssize_t before, Py_ssize_t after)
{
    const uint32_t *starts = NULL, *ends = NULL;
    size_t many = 1, count = 1;
    Range found = {0, 0};
    Py_ssize_t length = pairs->of->count, nearest = length + 1;

    if (before >= 0)
        starts = places_of(pairs, new, before, &many);
    if (after >= 0)
        ends = places_of(pairs, new, after, &count);
    for (size_t place = 0; place < many && place < PLACES; place++) {
        Py_ssize_t start = starts ? (Py_ssize_t)starts[place] + 2 : 0, end = length;
        if (ends) {
            size_t low = 0, high = count;
            while (low < high) {
                size_t middle = (low + high) / 2;
                if ((Py_ssize_t)ends[middle] > start - 2)
                    high = middle;
                else
                    low = middle + 1;
            }
            if (low == count)
                continue;
            end = ends[low];
        }
        if (end - start < nearest) {
            nearest = end - start;
            found = (Range){start, end};
        }
    }
    return found;
}

/* Some words, separated by spaces. */
static PyObject *spelt(const Words *words, Range range)
{
    Py_ssize_t length = 0;
    uint32_t one = 1;
    int order = *(char *)&one ? -1 : 1;

    if (range.from >= range.to)
        return PyUnicode_FromString("");
    for (Py_ssize_t at = range.from; at < range.to; at++)
        length += words->ends[at] - words->starts[at] + 1;
    uint32_t *points = PyMem_Malloc((size_t)length * sizeof *points);
    if (!points)
        return PyErr_NoMemory();
    length = 0;
    for (Py_ssize_t at = range.from; at < range.to; at++) {
        for (uint32_t place = words->starts[at]; place < words->ends[at]; place++)
            points[length++] = words->points[place] & (ALONE - 1);
        points[length++] = ' ';
    }
    PyObject *made = PyUnicode_DecodeUTF32((char *)points, (length - 1) * 4, "surrogatepass", &order);
    PyMem_Free(points);
    return made;
}

/* Add a change: the words of both texts without those that both have at its ends. */
static int add_change(PyObject *changes, const Words *new, const Words *old, Range mine, Range theirs)
{
    while (mine.from < mine.to && theirs.from < theirs.to &&
           are_equal(new, mine.from, old, theirs.from))
        mine.from++, theirs.from++;
    while (mine.from < mine.to && theirs.from < theirs.to &&
           are_equal(new, mine.to - 1, old, theirs.to - 1))
        mine.to--, theirs.to--;
    Range before = {mine.from ? mine.from - 1 : 0, mine.from};
    Range after = {mine.to, mine.to < new->count ? mine.to + 1 : mine.to};
    PyObject *made = Py_BuildValue("(NNNN)", spelt(new, mine), spelt(old, theirs), spelt(new, before),
                                   spelt(new, after));
    int failed = !made || PyList_Append(changes, made);
    Py_XDECREF(made);
    return failed;
}

static PyObject *find_changes(const Words *new, const Words *old, const Pairs *pairs)
{
    PyObject *changes = PyList_New(0);
    Py_ssize_t count = new->count ? new->count - 1 : 0, start = -1, end = 0;

    for (Py_ssize_t at = 0; changes && at <= count; at++) {
        int is_own = at < count && !find_pair(pairs, new, at);
        if (at < count && !is_own)
            continue;
        if (start >= 0 && (at == count || at - end >= CHANCE)) {
            Py_ssize_t before = start - 1, after = end + 1 < new->count ? end : -1;
            Range mine = {before >= 0 ? start + 1 : 0, after >= 0 ? end : new->count};
            if (add_change(changes, new, old, mine, between(pairs, new, before, after)))
                Py_CLEAR(changes);
            start = -1;
        }
        if (start < 0)
            start = at;
        end = at + 1;
    }
    return changes;
}

PyObject *core_changes(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *texts[2], *made = NULL;
    Py_buffer table;
    Words words[2] = {{0}, {0}};
    Pairs pairs = {0};
    int normalised, failed = 0;

    if (!PyArg_ParseTuple(arguments, "UUy*p:changes", &texts[0], &texts[1], &table, &normalised))
        return NULL;
    if (!is_fold_table(&table)) {
        PyErr_SetString(PyExc_ValueError, "not a fold table");
        failed = -2;
    }
    for (int text = 0; text < 2 && !failed; text++)
        failed = read_words(&words[text], texts[text], &table, normalised);
    if (failed == -1) {
        made = Py_NewRef(Py_None);
    } else if (!failed && !read_pairs(&pairs, &words[1])) {
        PyObject *changes = find_changes(&words[0], &words[1], &pairs);
        if (changes)
            made = Py_BuildValue("(Ndd)", changes, words[0].words, words[1].words);
    }
    PyMem_Free(pairs.heads);
    for (int text = 0; text < 2; text++)
        PyMem_Free(words[text].hashes);
    PyBuffer_Release(&table);
    return made;
}
