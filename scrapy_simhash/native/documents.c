/* Documents of plain items, sketched without the GIL: corpus.plain, which describes them. */

#include "blake2.h"
#include "json.h"
#include "sketches.h"
#include "tokens.h"

#include <stdio.h>

#define SHORT 512     /* characters of a text that is read for its state: item.content._GLANCE */
#define FEW_SPACES 8  /* as item.content._FEW */
#define LEAST 65      /* characters of a text that can be neither a date nor an encoded value */
#define MOST 65536    /* item.content._LOOK */
#define MOST_URL 2048 /* characters */
#define FACT 12       /* item.facts.RECORD_SIZE */
#define KEY 64        /* the longest key of BLAKE2b */

/* As corpus.plain.ROW. */
typedef struct {
    uint8_t fingerprint[16], digest[16];
    int64_t identity, tells;
    int32_t record, hashes, length, characters, facts, url;
} Row;

/* A line that is left to Python, as corpus.plain.LEFT. */
typedef struct {
    int64_t record, line, start, end;
} Left;

typedef struct {
    Py_buffer block, table, before, secret, fact, signs;
    Hashing with;
    unsigned long long second;
    Bins bins;
    Py_ssize_t least, most;
    long long first;
    Field fields[64];
    Py_ssize_t field_count;
} Given;

typedef struct {
    Bytes rows, keys, shingles, details, texts, left;
    Item item;
    Bytes numbers, scratch;
    Room room;
    int64_t records;
} Made;

static int append(Bytes *bytes, const void *from, size_t size)
{
    char *at = room_for(bytes, size);
    if (!at)
        return -1;
    memcpy(at, from, size);
    bytes->used += size;
    return 0;
}

/* Whether str.strip may remove a character. */
static int may_be_space(uint32_t c)
{
    return c <= 0x20 || (c >= 0x7F && c <= 0xA0) || c == 0x1680 || (c >= 0x2000 && c <= 0x200B) ||
           c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

/* Whether a text is surely read as it is: no address, markup, JSON, data, and nothing at its ends
 * that is left out. */
static int is_plain_text(At at, At end, const uint32_t *points, Py_ssize_t count)
{
    if (may_be_space(points[0]) || may_be_space(points[count - 1]) || *at == '{' || *at == '[' ||
        !memcmp(at, "data:", 5) || memchr(at, '<', (size_t)(end - at)))
        return 0;
    int is_one_word = 1;
    for (int place = 0; place < 64; place++) {
        is_one_word &= place >= 60 || (points[place] > ' ' && points[place] < 0x80);
        if (points[place] == '/' && points[place + 1] == '/')
            return 0;
    }
    return !is_one_word;
}

/* Whether it is so short that the numbers that tell a state are left out. */
static int is_short(const uint32_t *points, Py_ssize_t count)
{
    int spaces = 0;
    for (Py_ssize_t place = 0; count < SHORT && place < count; place++)
        spaces += points[place] == ' ';
    return spaces > FEW_SPACES;
}

/* Whether an address is plain ASCII, without spaces. */
static int is_plain_url(const Bytes *url)
{
    for (size_t at = 0; at < url->used; at++)
        if ((unsigned char)url->at[at] <= ' ' || (unsigned char)url->at[at] >= 0x7F)
            return 0;
    return url->used <= MOST_URL;
}

static int by_content(const void *one, const void *other)
{
    const Bytes *a = one, *b = other;
    int order = memcmp(a->at, b->at, a->used < b->used ? a->used : b->used);
    return order ? order : (a->used > b->used) - (a->used < b->used);
}

/* item.facts.numbers of the numbers found; 0 for none, -1 without memory. */
static int64_t hash_numbers(Made *made, const Py_buffer *secret)
{
    Bytes *found = &made->numbers, *joined = &made->scratch;
    size_t count = 0;
    uint8_t digest[8] = {0};
    int64_t hash = 0;

    if (!found->used)
        return 0;
    for (size_t at = 0; at < found->used; at++)
        count += found->at[at] == BETWEEN;
    Bytes *each = malloc(count * sizeof *each);
    joined->used = 0;
    if (!each || !room_for(joined, found->used)) {
        free(each);
        return -1;
    }
    char *at = found->at;
    for (size_t number = 0; number < count; number++) {
        char *end = memchr(at, BETWEEN, found->used);
        each[number] = (Bytes){at, (size_t)(end - at), 0};
        at = end + 1;
    }
    qsort(each, count, sizeof *each, by_content);
    for (size_t number = 0; number < count; number++) {
        append(joined, each[number].at, each[number].used);
        append(joined, &(char){BETWEEN}, 1);
    }
    free(each);
    blake2b(digest, 7, secret->buf, (size_t)secret->len, (At)joined->at, joined->used - 1);
    for (int byte = 7; byte-- > 0;)
        hash = hash << 8 | digest[byte];
    return hash;
}

/* The digest of an item whose only value is this text: item.digest.digest_of. */
static int digest_text(Made *made, const Given *given, Row *row)
{
    Bytes *scratch = &made->scratch, *text = &made->item.text;
    char *at;

    scratch->used = 0;
    if (append(scratch, given->before.buf, (size_t)given->before.len) || !(at = room_for(scratch, 16)))
        return -1;
    scratch->used += (size_t)snprintf(at, 16, "%d:", (int)row->characters);
    if (append(scratch, text->at, text->used) || append(scratch, ")", 1))
        return -1;
    blake2b(row->digest, 16, given->secret.buf, (size_t)given->secret.len, (At)scratch->at,
            scratch->used);
    return 0;
}

/* The identity of an item of that number: index.batch.identity_hash. */
static int64_t identity_of(long long number)
{
    char name[32];
    uint8_t digest[8];
    uint64_t value = 0;
    int size = snprintf(name, sizeof name, "item:%lld", number);

    blake2b(digest, 8, NULL, 0, (At)name, (size_t)size);
    for (int byte = 8; byte-- > 0;)
        value = value << 8 | digest[byte];
    return (int64_t)value;
}

static int append_document(const Given *given, Made *made, Row *row, int64_t numbers)
{
    Py_buffer shingles = {.buf = made->room.sorted, .len = 8 * (Py_ssize_t)row->hashes};
    uint64_t words[2];
    int32_t keys[MOST_BINS + 1];
    uint8_t fact[FACT];
    const uint8_t *end = row->digest + 12;

    vote(&shingles, given->second, words);
    for (int byte = 0; byte < 16; byte++)
        row->fingerprint[byte] = (uint8_t)(words[byte < 8] >> 8 * (7 - byte % 8));
    if (make_bands(&shingles, &given->bins, keys))
        return -1;
    keys[given->bins.bands] =
        (int32_t)((uint32_t)end[0] << 24 | (uint32_t)end[1] << 16 | (uint32_t)end[2] << 8 | end[3]);
    memcpy(fact, given->fact.buf, 5);
    for (int byte = 5; byte < FACT; byte++, numbers >>= 8)
        fact[byte] = (uint8_t)numbers;
    return append(&made->rows, row, sizeof *row) ||
                   append(&made->keys, keys, 4 * (size_t)(given->bins.bands + 1)) ||
                   append(&made->shingles, made->room.sorted, 8 * (size_t)row->hashes) ||
                   append(&made->details, fact, (size_t)row->facts) ||
                   append(&made->details, made->item.url.at, (size_t)row->url) ||
                   append(&made->texts, made->item.text.at, (size_t)row->length)
               ? -1
               : 1;
}

/* Sketch the item on a line. Returns 0 to leave it to Python, -1 without memory. */
static int sketch_line(const Given *given, Made *made, At at, At end)
{
    Item *item = &made->item;
    Row row = {.identity = identity_of(given->first + made->records), .record = (int32_t)made->records};
    int result = read_item(at, end, given->fields, given->field_count, item);

    if (result <= 0 || !is_plain_url(&item->url))
        return result < 0 ? -1 : 0;
    At text = (At)item->text.at, behind = text + item->text.used;
    if (item->text.used > 4 * MOST)
        return 0;
    Py_ssize_t count = read_characters(text, behind, made->room.points);
    if (count < LEAST || count > given->most ||
        !is_plain_text(text, behind, made->room.points, count))
        return 0;
    made->numbers.used = 0;
    int is_ascii = (size_t)count == item->text.used, tells = 1;
    if ((result = numbers_of(text, behind, is_ascii, &made->numbers, given->signs.buf, &tells)) <= 0)
        return result;
    if (tells && is_short(made->room.points, count))
        return 0;
    /* What can be normalised for its numbers here is in NFC. */
    Py_ssize_t hashes = make_shingles(&made->room, count, &given->table, 1, &given->with);
    if (hashes < given->least)
        return 0;
    int64_t numbers = hash_numbers(made, &given->secret);
    row.tells = tells;
    row.hashes = (int32_t)hashes;
    row.length = (int32_t)item->text.used;
    row.characters = (int32_t)count;
    row.facts = numbers ? FACT : 0;
    row.url = (int32_t)item->url.used;
    if (numbers < 0 || digest_text(made, given, &row))
        return -1;
    return append_document(given, made, &row, numbers);
}

static int is_blank(At at, At end)
{
    while (at < end && (*at == ' ' || (*at >= '\t' && *at <= '\r')))
        at++;
    return at == end;
}

static int sketch_block(const Given *given, Made *made)
{
    At start = given->block.buf, end = start + given->block.len;
    int64_t line = 0;

    if (!take_room(&made->room, 4 * MOST))
        return -1;
    for (At at = start; at < end; line++) {
        At stop = memchr(at, '\n', (size_t)(end - at)), next;
        stop = stop ? stop : end;
        next = stop + (stop < end);
        if (!is_blank(at, stop)) {
            int result = sketch_line(given, made, at, stop);
            Left left = {made->records++, line, at - start, stop - start};
            if (result < 0 || (!result && append(&made->left, &left, sizeof left)))
                return -1;
        }
        at = next;
    }
    return 0;
}

/* The names of the fields, and what they are. Returns -1 with an exception. */
static int read_fields(PyObject *fields, Given *given)
{
    Py_ssize_t count = PyList_Size(fields);

    if (count > (Py_ssize_t)(sizeof given->fields / sizeof *given->fields)) {
        PyErr_SetString(PyExc_ValueError, "too many fields");
        return -1;
    }
    for (; given->field_count < count; given->field_count++) {
        Field *field = &given->fields[given->field_count];
        PyObject *pair = PyList_GetItem(fields, given->field_count);
        if (!PyTuple_Check(pair)) {
            PyErr_SetString(PyExc_TypeError, "not a pair");
            return -1;
        }
        if (!PyArg_ParseTuple(pair, "y*i:documents", &field->name, &field->is))
            return -1;
    }
    return 0;
}

static PyObject *results(const Made *made)
{
    const Bytes *all[] = {&made->rows, &made->keys, &made->shingles,
                          &made->details, &made->texts, &made->left};
    PyObject *found = PyList_New(0);

    for (size_t at = 0; found && at < sizeof all / sizeof *all; at++) {
        PyObject *bytes = PyBytes_FromStringAndSize(all[at]->at, (Py_ssize_t)all[at]->used);
        if (!bytes || PyList_Append(found, bytes))
            Py_CLEAR(found);
        Py_XDECREF(bytes);
    }
    return found;
}

PyObject *core_documents(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Given given = {.field_count = 0};
    Made made = {.records = 0};
    PyObject *fields, *found = NULL;
    unsigned long long base, pair;

    if (!PyArg_ParseTuple(arguments, "y*O!(y*(KKn)K(y*y*y*n))(y*y*y*nny*)L:documents", &given.block,
                          &PyList_Type, &fields, &given.table, &base, &pair, &given.with.window,
                          &given.second, &given.bins.starts, &given.bins.orders,
                          &given.bins.factors, &given.bins.bands, &given.before, &given.secret,
                          &given.fact, &given.least, &given.most, &given.signs, &given.first))
        return NULL;
    given.with.base = base, given.with.pair = pair;
    if (!read_fields(fields, &given)) {
        if (!is_fold_table(&given.table) || given.with.window < 1 || !are_bins(&given.bins) ||
            given.secret.len > KEY || given.fact.len != 5 || given.signs.len != SIGNS ||
            given.least < 1) {
            PyErr_SetString(PyExc_ValueError, "not the arguments of a plan");
        } else {
            PyThreadState *others = PyEval_SaveThread();
            int result = sketch_block(&given, &made);
            PyEval_RestoreThread(others);
            found = result ? PyErr_NoMemory() : results(&made);
        }
    }
    Bytes *all[] = {&made.rows, &made.keys, &made.shingles, &made.details, &made.texts,
                    &made.left, &made.item.text, &made.item.url, &made.numbers, &made.scratch};
    for (size_t at = 0; at < sizeof all / sizeof *all; at++)
        free(all[at]->at);
    free(made.room.hashes);
    Py_buffer *buffers[] = {&given.block, &given.table, &given.before,
                            &given.secret, &given.fact, &given.signs};
    for (size_t at = 0; at < sizeof buffers / sizeof *buffers; at++)
        PyBuffer_Release(buffers[at]);
    while (given.field_count)
        PyBuffer_Release(&given.fields[--given.field_count].name);
    release_bins(&given.bins);
    return found;
}
