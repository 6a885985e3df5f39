/* The words of a text, and where two similar texts differ: features/tokens.py, features/changes.py. */

#include "tokens.h"

#define CHANCE 3  /* fewer shared pairs between two differing places are chance */
#define PLACES 64 /* places of a pair of words that are looked at */
#define REFERENCE 5 /* digits of a number of a file or the like */
#define MOST_CHANGES 64 /* of two texts that are surely copies */

/* As in features/changes.py. */
#define PASSAGE 12
#define SHORT_PASSAGE 4
#define SHARE (1.0 / 16)
#define REPEATED 3

/* The words of a text: folded characters, where each word begins and ends, and its hash. */
typedef struct {
    Room room;
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

static double weight_of(const Words *words, Py_ssize_t at)
{
    uint32_t start = words->starts[at];
    return words->ends[at] - start == 1 && (words->points[start] & (ALONE - 1)) > 0x7F ? 0.5 : 1;
}

/* Split the characters in a room into words. Returns -1 if they have to be normalised. */
static int read_words(Words *words, Py_ssize_t length, const Py_buffer *table, int normalised)
{
    Py_ssize_t left = fold(words->room.points, length, table, normalised);
    if (left < 0)
        return -1;
    words->points = words->room.points;
    words->hashes = words->room.hashes;
    words->starts = words->room.ends;
    words->ends = words->starts + words->room.length;
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
        words->words += weight_of(words, words->count - 1);
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
    if (!(pairs->heads = calloc(size + 4 * count + 2, sizeof(uint32_t))))
        return -1;
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

/* Words of the new text, and those of the old one in their place. */
typedef struct {
    Range new, old;
} Change;

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

/* Add a change, without the words that both texts have at its ends. */
static void add_change(Buffer *changes, const Words *new, const Words *old, Range mine, Range theirs)
{
    while (mine.from < mine.to && theirs.from < theirs.to &&
           are_equal(new, mine.from, old, theirs.from))
        mine.from++, theirs.from++;
    while (mine.from < mine.to && theirs.from < theirs.to &&
           are_equal(new, mine.to - 1, old, theirs.to - 1))
        mine.to--, theirs.to--;
    Change change = {mine, theirs};
    append(changes, &change, sizeof change);
}

static void find_changes(const Words *new, const Words *old, const Pairs *pairs, Buffer *changes)
{
    Py_ssize_t count = new->count ? new->count - 1 : 0, start = -1, end = 0;
    Py_ssize_t most = new->count < old->count ? new->count : old->count, same = 0, last = 0;

    /* The pairs with which both texts begin and end need not be looked up. */
    while (same < most && are_equal(new, same, old, same))
        same++;
    while (last < most && are_equal(new, count - last, old, old->count - 1 - last))
        last++;
    for (Py_ssize_t at = 0; at <= count; at++) {
        if (at < count && (at + 1 < same || at > count - last || find_pair(pairs, new, at)))
            continue;
        if (start >= 0 && (at == count || at - end >= CHANCE)) {
            Py_ssize_t before = start - 1, after = end + 1 < new->count ? end : -1;
            Range mine = {before >= 0 ? start + 1 : 0, after >= 0 ? end : new->count};
            add_change(changes, new, old, mine, between(pairs, new, before, after));
            start = -1;
        }
        if (start < 0)
            start = at;
        end = at + 1;
    }
}

/* Compare the words of two texts, the new one first. Returns -1 without memory. */
static int compare_words(const Words words[2], Buffer *changes)
{
    Pairs pairs;
    if (read_pairs(&pairs, &words[1]))
        return -1;
    find_changes(&words[0], &words[1], &pairs, changes);
    free(pairs.heads);
    return changes->failed ? -1 : 0;
}

static PyObject *spell_changes(const Words words[2], const Buffer *found)
{
    PyObject *changes = PyList_New(0);
    const Change *change = (const Change *)(const void *)found->bytes;

    for (size_t left = found->used / sizeof *change; changes && left; left--, change++) {
        Range mine = change->new;
        Range before = {mine.from ? mine.from - 1 : 0, mine.from};
        Range after = {mine.to, mine.to < words->count ? mine.to + 1 : mine.to};
        PyObject *made = Py_BuildValue("(NNNN)", spelt(words, mine), spelt(words + 1, change->old),
                                       spelt(words, before), spelt(words, after));
        if (!made || PyList_Append(changes, made))
            Py_CLEAR(changes);
        Py_XDECREF(made);
    }
    return changes;
}

/* Read the words of a text. Returns -1 if it has to be normalised, -2 with an error set. */
static int read_object(Words *words, PyObject *text, const Py_buffer *table, int normalised)
{
    Py_ssize_t length = PyUnicode_GetLength(text);
    if (!is_fold_table(table))
        PyErr_SetString(PyExc_ValueError, "not a fold table");
    else if (!take_room(&words->room, length))
        PyErr_NoMemory();
    else if (PyUnicode_AsUCS4(text, words->room.points, length, 0))
        return read_words(words, length, table, normalised);
    return -2;
}

PyObject *core_tokens(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *text, *made = NULL;
    Py_buffer table;
    Words words = {.count = 0};
    int normalised;

    if (!PyArg_ParseTuple(arguments, "Uy*p:tokens", &text, &table, &normalised))
        return NULL;
    int failed = read_object(&words, text, &table, normalised);
    if (failed != -2)
        made = failed ? Py_NewRef(Py_None) : spelt(&words, (Range){0, words.count});
    free(words.room.hashes);
    PyBuffer_Release(&table);
    return made;
}

PyObject *core_changes(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *texts[2], *made = NULL;
    Py_buffer table;
    Words words[2] = {{.count = 0}, {.count = 0}};
    Buffer changes = {0};
    int normalised;

    if (!PyArg_ParseTuple(arguments, "UUy*p:changes", &texts[0], &texts[1], &table, &normalised))
        return NULL;
    int failed = read_object(&words[0], texts[0], &table, normalised);
    if (!failed)
        failed = read_object(&words[1], texts[1], &table, normalised);
    if (failed == -1)
        made = Py_NewRef(Py_None);
    else if (!failed && compare_words(words, &changes))
        PyErr_NoMemory();
    else if (!failed)
        made = Py_BuildValue("(Ndd)", spell_changes(words, &changes), words[0].words, words[1].words);
    free(changes.bytes);
    free(words[0].room.hashes);
    free(words[1].room.hashes);
    PyBuffer_Release(&table);
    return made;
}

/* Whether a word may begin with a digit, in doubt it may. */
static int may_be_number(const Words *words, Py_ssize_t at)
{
    if (at < 0 || at >= words->count)
        return 0;
    uint32_t first = words->points[words->starts[at]] & (ALONE - 1);
    int is_letter = (first >= 0xC0 && first < 0x530) || (first >= 0x3041 && first < 0xA000);
    return first < 0x80 ? first - '0' < 10 : !is_letter;
}

/* Whether a word may be a number of a file or the like. */
static int may_be_reference(const Words *words, Py_ssize_t at)
{
    return words->ends[at] - words->starts[at] >= REFERENCE && may_be_number(words, at);
}

/* Whether the changes surely replace no passage and no reference and rename nothing, and, then 2,
 * have no number: methods of features.changes.Changes. Here ideographs are words, and exchanges the
 * same if their first words are. */
static int judge_changes(const Words words[2], const Buffer *found)
{
    const Change *changes = (const Change *)(const void *)found->bytes;
    size_t count = found->used / sizeof *changes;
    double least = words[words[0].words > words[1].words].words * SHARE;
    int result = 2;

    if (!count && words[0].words >= words[1].words)
        return 0; /* the same pairs in another order */
    least = least < SHORT_PASSAGE ? SHORT_PASSAGE : least > PASSAGE ? PASSAGE : least;
    for (size_t at = 0; at < count; at++) {
        Range new = changes[at].new, old = changes[at].old;
        Py_ssize_t mine = new.to - new.from, theirs = old.to - old.from;
        int repeated = 1, references = 0;
        for (Py_ssize_t word = new.from; word < new.to; word++) {
            result = may_be_number(words, word) ? 1 : result;
            references |= may_be_reference(words, word);
        }
        if (mine <= 0 && theirs > 0 && /* "2.5" and "5" */
            ((may_be_number(words, new.from - 1) && may_be_number(words + 1, old.from)) ||
             (may_be_number(words + 1, old.to - 1) && may_be_number(words, new.to))))
            result = 1;
        if (mine <= 0 || theirs <= 0)
            continue;
        if (mine <= 2 && (may_be_number(words, new.from - 1) || may_be_number(words, new.to)))
            result = 1;
        for (Py_ssize_t word = old.from; references && word < old.to; word++)
            if (may_be_reference(words + 1, word))
                return 0;
        for (size_t earlier = 0; earlier < at; earlier++) {
            Range was = changes[earlier].new, stood = changes[earlier].old;
            repeated += was.from < was.to && stood.from < stood.to &&
                        are_equal(words, was.from, words, new.from) &&
                        are_equal(words + 1, stood.from, words + 1, old.from);
        }
        if (mine >= least && theirs >= least)
            return 0;
        if (repeated == REPEATED || at == MOST_CHANGES)
            return 0;
    }
    return result;
}

static int is_part(int64_t from, int64_t size, const Py_buffer *of)
{
    return from >= 0 && size >= 0 && from <= of->len && size <= of->len - from;
}

/* Read one of the texts; returns 1 if it has to be normalised, -1 without memory. */
static int read_text(Words *words, At at, int64_t size, const Py_buffer *table)
{
    free(words->room.hashes);
    *words = (Words){.count = 0};
    if (!take_room(&words->room, (Py_ssize_t)size))
        return -1;
    return read_words(words, read_characters(at, at + size, words->room.points), table, 0) != 0;
}

/* What judge_changes tells of two texts that were read; -1 without memory. */
static int judge_texts(const Words words[2])
{
    Buffer changes = {0};
    int result = compare_words(words, &changes) ? -1 : judge_changes(words, &changes);
    free(changes.bytes);
    return result;
}

PyObject *core_compare(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Py_buffer places, shingles, texts, table;
    double least;
    PyObject *made = NULL;

    if (!PyArg_ParseTuple(arguments, "y*y*y*y*d:compare", &places, &shingles, &texts, &table, &least))
        return NULL;
    Py_ssize_t count = places.len / 64;
    if (is_fold_table(&table) && least >= 0 && least <= 1)
        made = PyBytes_FromStringAndSize(NULL, count * 16);
    else
        PyErr_SetString(PyExc_ValueError, "not a fold table or a similarity");
    char *next = made ? PyBytes_AsString(made) : NULL;
    int64_t found[2] = {0, 0}, last[2] = {-1, -1};
    Words words[2] = {{.count = 0}, {.count = 0}};
    int unread[2] = {0, 0};
    PyThreadState *others = PyEval_SaveThread();
    for (Py_ssize_t at = 0; made && at < count && found[1] >= 0; at++, next += sizeof found) {
        int64_t of[8]; /* where both begin, and their bytes: of the shingles, then of the texts */
        Py_buffer sets[2];
        memcpy(of, (const char *)places.buf + 64 * at, sizeof of);
        for (int one = 0; one < 2; one++) {
            if (!is_part(of[one], of[2 + one], &shingles) || !is_part(of[4 + one], of[6 + one], &texts))
                found[1] = -2;
            sets[one].buf = (char *)shingles.buf + of[one];
            sets[one].len = (Py_ssize_t)of[2 + one];
        }
        if (found[1] == -2)
            break;
        found[0] = count_common(&sets[0], &sets[1], least);
        found[1] = 0;
        if (found[0] >= 0) {
            /* One document is often compared with many. */
            if (of[4] != last[0] || of[6] != last[1])
                unread[0] = read_text(&words[0], (At)texts.buf + of[4], of[6], &table);
            last[0] = of[4], last[1] = of[6];
            unread[1] = read_text(&words[1], (At)texts.buf + of[5], of[7], &table);
            if (unread[0] < 0 || unread[1] < 0)
                found[1] = -1;
            else if (!unread[0] && !unread[1])
                found[1] = judge_texts(words);
        }
        memcpy(next, found, sizeof found);
    }
    PyEval_RestoreThread(others);
    free(words[0].room.hashes);
    free(words[1].room.hashes);
    if (found[1] < 0) {
        Py_CLEAR(made);
        PyErr_SetString(found[1] == -1 ? PyExc_MemoryError : PyExc_ValueError, "places");
    }
    PyBuffer_Release(&places);
    PyBuffer_Release(&shingles);
    PyBuffer_Release(&texts);
    PyBuffer_Release(&table);
    return made;
}
