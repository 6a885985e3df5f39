/* The main text and all visible text of a tree: text/density.py, which explains the numbers. */

#include "node.h"
#include "tree.h"

#define BLOCK_COST 30
#define WORST -150
#define BEST 1000
#define MOST 0.75
#define NEARLY 0.85
#define NOTE 400
#define MARKED_SHARE 0.4
#define STORY 400
#define LITTLE 200
#define LITTLE_SHARE 0.25
#define SHORT 500
#define SHORT_SHARE 0.5
#define PASSED 0.1
#define LISTED 0.15
#define FIGURE 3
#define RESCUED 1000
#define CARDS 3
#define TITLE 25

/* Sums over all blocks before one; of the cards in a row that end there, the first block and how
 * many there are. */
typedef struct {
    Py_ssize_t plain, width, links, changes, first, cards;
} Sum;

/* One sum more than there are pieces. */
typedef struct {
    Piece *pieces;
    Span *spans;
    Py_ssize_t count, span_count;
    Sum *sums;
    const char *text;
} Page;

static int is_links(const Piece *piece)
{
    return 2 * piece->linked > piece->width;
}

static Py_ssize_t bounded(Py_ssize_t value)
{
    return value < BEST ? value : BEST;
}

/* density._score */
static Py_ssize_t score(const Piece *piece)
{
    Py_ssize_t made = piece->width - 2 * piece->linked - BLOCK_COST;
    if (!is_links(piece)) {
        if (piece->kind == PARAGRAPH)
            made += BLOCK_COST;
        else if (piece->kind == HEADING && made < -5)
            made = -5;
    }
    made = made < WORST ? WORST : made;
    return piece->is_marked && made > 0 ? 0 : bounded(made);
}

/* Whether an element is marked as comments; the name of a whole page does not make it one. */
static int is_comments(const Page *page, const Span *span)
{
    return span->mark == COMMENTS && span->stop - span->start < page->count;
}

/* density._covered: mark the pieces of boilerplate, or of comments, or both. */
static void mark_pieces(Page *page, int with_boilerplate, int with_comments)
{
    Py_ssize_t depth = 0;
    for (Py_ssize_t at = 0; at <= page->count; at++)
        page->sums[at].changes = 0;
    for (const Span *span = page->spans; span < page->spans + page->span_count; span++)
        if ((with_boilerplate && span->is_boilerplate) ||
            (with_comments && is_comments(page, span))) {
            page->sums[span->start].changes++;
            page->sums[span->stop].changes--;
        }
    for (Py_ssize_t at = 0; at < page->count; at++) {
        depth += page->sums[at].changes;
        page->pieces[at].is_marked = depth > 0;
    }
}

/* density._boilerplate, without the pieces that are marked. */
static void find_boilerplate(Page *page)
{
    Sum *sums = page->sums, *last = sums + page->count;

    memset(sums, 0, sizeof *sums);
    for (const Piece *piece = page->pieces; sums < last; sums++, piece++) {
        Py_ssize_t width = piece->is_marked ? 0 : piece->width;
        int is_short_link = piece->width < TITLE && is_links(piece);
        sums[1].plain = sums->plain + (width ? width - piece->linked : 0);
        sums[1].width = sums->width + width;
        sums[1].links = sums->links + (is_short_link ? width : 0);
    }
    for (Span *span = page->spans; span < page->spans + page->span_count; span++) {
        const Sum *start = page->sums + span->start, *stop = page->sums + span->stop;
        Py_ssize_t plain = stop->plain - start->plain;
        int is_menu = 2 * (stop->links - start->links) > stop->width - start->width;
        Py_ssize_t whole = span->mark && plain < NOTE ? last->width : last->plain;
        int is_dialog = span->mark == DIALOG && last->plain - plain >= STORY;
        int is_small = (double)plain < MARKED_SHARE * (double)whole;
        span->is_boilerplate = is_dialog || ((span->mark || is_menu) && is_small);
    }
}

/* Whether comments come after a story. */
static int have_story(const Page *page, const Span *span)
{
    Py_ssize_t prose = 0, at = 0;
    for (; at < span->start; at++) {
        Py_ssize_t made = score(page->pieces + at);
        prose += made > 0 ? made : 0;
    }
    return prose >= STORY;
}

/* density._marked_blocks */
static void mark(Page *page)
{
    const Span *end = page->spans + page->span_count, *last = NULL;

    /* If any comments come after a story, those that begin last do. */
    for (const Span *span = page->spans; span < end; span++)
        if (is_comments(page, span) && (!last || span->start > last->start))
            last = span;
    if (last) {
        mark_pieces(page, 0, 1);
        find_boilerplate(page);
        mark_pieces(page, 1, 1);
        if (have_story(page, last))
            return;
        for (Py_ssize_t at = 0; at < page->count; at++)
            page->pieces[at].is_marked = 0;
    }
    find_boilerplate(page);
    mark_pieces(page, 1, 0);
}

static Py_ssize_t kept_width(const Piece *piece)
{
    return piece->is_kept ? bounded(piece->width) : 0;
}

/* Sum up the worth of pieces, and give each span its total. */
static void sum_up(const Page *page, Py_ssize_t (*worth)(const Piece *))
{
    page->sums[0].plain = 0;
    for (Py_ssize_t at = 0; at < page->count; at++)
        page->sums[at + 1].plain = page->sums[at].plain + worth(page->pieces + at);
    for (Span *span = page->spans; span < page->spans + page->span_count; span++)
        span->total = page->sums[span->stop].plain - page->sums[span->start].plain;
}

/* density._article */
static const Span *article(const Page *page)
{
    Span *spans = page->spans, *page_itself = spans + page->span_count - 1, *whole = page_itself;
    const Span *found;
    Py_ssize_t best, most = -1;

    sum_up(page, score);
    best = page_itself->total;
    for (Span *span = spans; span < page_itself; span++)
        if (span->may_be_article && span->total > best)
            best = span->total;
    double enough = best < 0 ? (double)best : MOST * (double)best;
    while (!(whole->may_be_article && whole->total == best))
        whole--;
    found = whole;
    for (Span *span = spans; span <= whole; span++) {
        span->inner = span - spans;
        span->part = 0;
        if (!span->may_be_article || (double)span->total < enough)
            continue;
        while (span->inner && spans[span->inner - 1].start >= span->start) {
            const Span *last = spans + span->inner - 1;
            span->inner = last->inner;
            Py_ssize_t part = last->total > last->part ? last->total : last->part;
            span->part = part > span->part ? part : span->part;
        }
        if (span->start >= whole->start && span->total - span->part >= most) {
            found = span;
            most = span->total - span->part;
        }
    }
    return found;
}

/* density._smallest */
static const Span *smallest(const Page *page)
{
    const Span *end = page->spans + page->span_count, *found = NULL;
    Py_ssize_t most = 0;

    sum_up(page, kept_width);
    for (const Span *span = page->spans; span < end; span++)
        most = span->total > most ? span->total : most;
    for (const Span *span = page->spans; span < end; span++)
        if ((double)span->total >= NEARLY * (double)most &&
            (!found || span->stop - span->start < found->stop - found->start))
            found = span;
    return found;
}

/* density._weight of the pieces that are kept. */
static Py_ssize_t weigh(const Page *page, Py_ssize_t start, Py_ssize_t stop)
{
    Py_ssize_t weight = 0;
    for (const Piece *piece = page->pieces + start; piece < page->pieces + stop; piece++)
        weight += piece->is_kept ? bounded(piece->width - piece->linked) : 0;
    return weight;
}

static int is_title(const Piece *piece)
{
    return is_links(piece) && !piece->is_marked && piece->width >= TITLE;
}

/* density._cards: how many of them each piece is in. */
static void find_cards(Page *page)
{
    Sum *sums = page->sums;
    Py_ssize_t depth = 0;

    for (Py_ssize_t at = 0; at <= page->count; at++)
        sums[at].changes = sums[at].cards = 0;
    for (const Span *span = page->spans; span < page->spans + page->span_count; span++) {
        const Sum *before = sums + span->start;
        Sum *last = sums + span->stop;
        const Piece *title = page->pieces + span->start;
        if (span->stop - span->start < 2 || !is_links(title) || title->width < TITLE ||
            before->cards < last->cards)
            continue;
        last->first = before->cards ? before->first : span->start;
        last->cards = before->cards + 1;
    }
    for (Py_ssize_t at = 0; at <= page->count; at++)
        if (sums[at].cards >= CARDS) {
            sums[sums[at].first].changes++;
            sums[at].changes--;
        }
    for (Py_ssize_t at = 0; at < page->count; at++)
        sums[at].cards = depth += sums[at].changes;
}

/* density._information of a piece that is kept. */
static Py_ssize_t told(const Page *page, const Piece *piece)
{
    Py_ssize_t figures = 0, made = score(piece);
    for (const char *at = page->text + piece->start; at < page->text + piece->end; at++)
        figures += FIGURE * (*at >= '0' && *at <= '9');
    figures = figures < piece->width ? figures : piece->width;
    return made > figures ? made : figures;
}

/* The prose between the first heading and a text. */
static Py_ssize_t passed(const Page *page, const Span *found)
{
    Py_ssize_t at = 0, prose = 0;
    while (at < found->start && page->pieces[at].kind != HEADING)
        at++;
    for (; at < found->start; at++) {
        const Piece *piece = page->pieces + at;
        Py_ssize_t made = piece->is_kept && piece->kind != HEADING ? score(piece) : 0;
        prose += made > 0 ? made : 0;
    }
    return prose;
}

/* density._is_most */
static int is_most(Page *page, const Span *found)
{
    Py_ssize_t linked = 0, width = 0, weight = 0, whole = 0;
    double share = LITTLE_SHARE;

    for (Py_ssize_t at = found->start; at < found->stop; at++) {
        const Piece *piece = page->pieces + at;
        if (!piece->is_kept)
            continue;
        linked += piece->linked;
        width += piece->width;
        weight += told(page, piece);
    }
    int is_list = (double)linked > LISTED * (double)width, is_short = weight < SHORT;
    if (is_list || is_short)
        share = SHORT_SHARE;
    if (is_short && !is_list) {
        if ((double)passed(page, found) > PASSED * (double)weight)
            return 0;
        find_cards(page);
    }
    for (Py_ssize_t at = 0; at < page->count; at++) {
        const Piece *piece = page->pieces + at;
        if (piece->is_kept && (is_list || !is_short || !page->sums[at].cards))
            whole += told(page, piece);
        else if (is_list && is_title(piece))
            whole += piece->width;
    }
    return weight >= LITTLE && (double)weight >= share * (double)whole;
}

static const Span *main_span(Page *page)
{
    Piece *end = page->pieces + page->count;
    const Span *found;
    Py_ssize_t titles = 0;

    mark(page);
    for (Piece *piece = page->pieces; piece < end; piece++)
        piece->is_kept = !piece->is_marked && !is_links(piece);
    found = article(page);
    if (is_most(page, found))
        return found;
    for (const Piece *piece = page->pieces; piece < end; piece++)
        titles += is_title(piece) ? piece->width : 0;
    if (titles > weigh(page, 0, page->count))
        for (Piece *piece = page->pieces; piece < end; piece++)
            piece->is_kept |= is_title(piece);
    return smallest(page);
}

/* density._main_blocks: keep the pieces of the main text. Returns its weight; -1 without memory. */
static Py_ssize_t find_main(const Walk *walk)
{
    Page page = {pieces_of(walk), (Span *)(void *)walk->spans.bytes, count_pieces(walk),
                 (Py_ssize_t)(walk->spans.used / sizeof(Span)), NULL, walk->text.bytes};
    Py_ssize_t kept = 0;

    page.sums = PyMem_Malloc((size_t)(page.count + 1) * sizeof(Sum));
    if (!page.sums)
        return -1;
    const Span *found = main_span(&page);
    for (Py_ssize_t at = 0; at < page.count; at++) {
        Piece *piece = page.pieces + at;
        piece->is_kept &= at >= found->start && at < found->stop;
        kept += piece->is_kept;
    }
    for (Py_ssize_t at = 0; !kept && at < page.count; at++)
        page.pieces[at].is_kept = 1;
    PyMem_Free(page.sums);
    return weigh(&page, 0, page.count);
}

static void append_piece(Buffer *text, const Walk *walk, const Piece *piece)
{
    append(text, walk->text.bytes + piece->start, piece->end - piece->start + 1);
}

/* Append the pieces that are kept, one a line. Returns their width. */
static Py_ssize_t append_main(Buffer *text, const Walk *walk, Py_ssize_t count)
{
    Py_ssize_t width = 0;
    const Piece *end = pieces_of(walk) + count;
    for (const Piece *piece = pieces_of(walk); piece < end; piece++) {
        if (!piece->is_kept)
            continue;
        append_piece(text, walk, piece);
        width += piece->width + 1;
    }
    return width;
}

/* Append the pieces that are boilerplate, one a line; those from `count` on are skipped elements. */
static void append_boilerplate(Buffer *text, const Walk *walk, Py_ssize_t count)
{
    const Piece *pieces = pieces_of(walk);
    for (Py_ssize_t at = 0; at < count_pieces(walk); at++)
        if (at >= count || (!pieces[at].is_kept && (pieces[at].is_marked || is_links(pieces + at))))
            append_piece(text, walk, pieces + at);
}

/* The size of lines without the newline after the last one. */
static Py_ssize_t size_of(const Buffer *text)
{
    return text->used ? (Py_ssize_t)text->used - 1 : 0;
}

typedef struct {
    Table content, rescue, visible, words;
} Rules;

/* Walk a tree and find its main text. Returns its weight; -1 to leave it to Python, or without
 * memory. */
static Py_ssize_t find_text(Walk *walk, PyObject *root, const Table *actions, const Table *words)
{
    walk_tree(walk, root, actions, words);
    if (walk->is_odd || has_failed(walk))
        return -1;
    Py_ssize_t weight = find_main(walk);
    walk->text.failed |= weight < 0;
    return weight;
}

/* The results as objects. No pointer into the tree is held any more. */
static PyObject *tell(const Walk *walk, const Buffer *text, Py_ssize_t width, const Buffer *beside)
{
    Py_ssize_t visible_width = count_pieces(walk);
    for (Py_ssize_t at = 0; at < count_pieces(walk); at++)
        visible_width += pieces_of(walk)[at].width;
    if (walk->is_odd)
        return Py_NewRef(Py_None);
    if (text->failed || beside->failed || has_failed(walk))
        return PyErr_NoMemory();
    /* A pointer that is not NULL, as one of no bytes would be None. */
    return Py_BuildValue("s#ny#ny#", text->used ? text->bytes : "", size_of(text),
                         width - (width > 0), walk->text.used ? walk->text.bytes : "",
                         size_of(&walk->text), visible_width - (visible_width > 0),
                         beside->used ? beside->bytes : "", size_of(beside));
}

/* density.read */
static PyObject *cut_page(PyObject *root, const Rules *rules)
{
    Walk first = {0}, second = {0}, *taken = &first;
    Buffer text = {0}, beside = {0};
    Py_ssize_t width = 0, weight = find_text(&first, root, &rules->content, &rules->words);

    if (weight >= 0 && weight < LITTLE) {
        weight = find_text(&second, root, &rules->rescue, &rules->words);
        if (weight < 0 || weight >= RESCUED)
            taken = &second;
    }
    if (weight >= 0) {
        Py_ssize_t count = count_pieces(taken);
        width = append_main(&text, taken, count);
        walk_skipped(taken, &rules->visible);
        append_boilerplate(&beside, taken, count);
    }
    PyObject *made = tell(taken, &text, width, &beside);
    free(text.bytes);
    free(beside.bytes);
    free_walk(&first);
    free_walk(&second);
    return made;
}

PyObject *core_page(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *root, *made = NULL;
    Py_buffer content, rescue, visible, words;
    Rules rules;

    if (!PyArg_ParseTuple(arguments, "O(y*y*y*y*):page", &root, &content, &rescue, &visible,
                          &words))
        return NULL;
    if (is_element(root)) {
        if (read_table(&rules.content, &content) && read_table(&rules.rescue, &rescue) &&
            read_table(&rules.visible, &visible) && read_table(&rules.words, &words))
            made = left_to_python(cut_page(root, &rules));
        else
            PyErr_SetString(PyExc_ValueError, "not tables of tags and words");
    }
    PyBuffer_Release(&content);
    PyBuffer_Release(&rescue);
    PyBuffer_Release(&visible);
    PyBuffer_Release(&words);
    return made;
}
