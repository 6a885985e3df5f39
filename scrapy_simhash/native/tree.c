/* Blocks of text from a tree, and what class, id and style mark an element as: text/blocks.py.
 *
 * No Python code runs while a pointer into the tree is held. Unusual trees are left to Python.
 */

#include "tree.h"

#include "node.h"

#define SEEN 64
#define NAME_LENGTH 256 /* characters that count */
#define STYLE_LENGTH 1024
#define WORD 16 /* more than the longest word has */
#define POSTS "widget Blog" /* of Blogger */

typedef struct {
    Py_ssize_t start;
    int kind;
} Around;

/* The action of each tag, by address: libxml2 shares equal names of a document. */
typedef struct {
    const Table *table;
    const char *names[SEEN];
    int actions[SEEN];
} Actions;

static int action_of_tag(const Table *table, const char *name)
{
    const char *local = strrchr(name, '}');
    unsigned hash = 0;
    name = local ? local + 1 : name;
    size_t length = strlen(name);
    for (size_t at = 0; at < length; at++)
        hash = next_hash(hash, name[at]);
    unsigned slot = slot_of(table, name, length, hash);
    return table->lengths[slot] ? table->numbers[slot] : BLOCK;
}

static int action_of(Actions *actions, const Node *node)
{
    const char *name = name_of(node);
    if (node->type != XML_ELEMENT_NODE)
        return INLINE;
    if (!name)
        return BLOCK;
    size_t place = ((uintptr_t)name ^ (uintptr_t)name >> 6) % SEEN;
    if (actions->names[place] != name) {
        actions->names[place] = name;
        actions->actions[place] = action_of_tag(actions->table, name);
    }
    return actions->actions[place];
}

int read_table(Table *table, const Py_buffer *packed)
{
    const unsigned char *at = packed->buf, *end = at + packed->len;
    int count = 0;
    memset(table->lengths, 0, sizeof table->lengths);
    for (; end - at > 2 && at[0] && end - at >= 2 + at[0] && count < 400; at += 2 + at[0], count++) {
        const char *name = (const char *)at + 2;
        unsigned hash = 0;
        for (int place = 0; place < at[0]; place++)
            hash = next_hash(hash, name[place]);
        unsigned slot = slot_of(table, name, at[0], hash);
        table->lengths[slot] = at[0];
        table->numbers[slot] = at[1];
        table->names[slot] = name;
    }
    return at == end;
}

static int is_letter(char c)
{
    return (unsigned char)((c | 0x20) - 'a') < 26;
}

static int is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int is_of_word(char c)
{
    return is_letter(c) || c == '_' || (c >= '0' && c <= '9');
}

/* The end of the first characters of a text. */
static const char *end_of(const char *text, int most)
{
    while (*text && ((*text & 0xC0) == 0x80 || most-- > 0))
        text++;
    return text;
}

/* What the words of a name that are in the table mark. A word with the number SLUG at the beginning
 * of a slug does not count, nor does the slug. */
static int mark_of_name(const Table *words, const char *name)
{
    int found = UNMARKED;
    const char *end = end_of(name, NAME_LENGTH);
    for (const char *at = name; at < end;) {
        const char *start = at;
        char word[WORD];
        unsigned hash = 0;
        for (; at < end && is_letter(*at); at++) {
            char letter = (char)(*at | 0x20);
            if (at - start < WORD)
                word[at - start] = letter;
            hash = next_hash(hash, letter);
        }
        size_t length = (size_t)(at - start);
        if (!length) {
            at++;
            continue;
        }
        if (length > WORD)
            continue;
        unsigned slot = slot_of(words, word, length, hash);
        if (!words->lengths[slot])
            continue;
        if (words->numbers[slot] != SLUG) {
            int mark = words->numbers[slot] == COMMENT ? COMMENTS : MARKED;
            found = mark > found ? mark : found;
            continue;
        }
        int begins = start == name || !is_of_word(start[-1]);
        if (begins && end - at > 1 && *at == '-' && !is_blank(at[1]))
            while (at < end && !is_blank(*at))
                at++;
    }
    return found;
}

/* The end of a text that stands there, in any case; NULL if it does not. */
static const char *after(const char *at, const char *end, const char *text)
{
    for (; *text; text++, at++)
        if (at >= end || (*at | (is_letter(*at) ? 0x20 : 0)) != *text)
            return NULL;
    return at;
}

static int is_declared(const char *at, const char *end, const char *property, const char *value)
{
    if (!(at = after(at, end, property)))
        return 0;
    while (at < end && is_blank(*at))
        at++;
    if (!(at = after(at, end, ":")))
        return 0;
    while (at < end && is_blank(*at))
        at++;
    return after(at, end, value) != NULL;
}

static int hides(const char *style)
{
    const char *end = end_of(style, STYLE_LENGTH);
    for (const char *at = style; at < end; at++)
        if (is_declared(at, end, "display", "none") || is_declared(at, end, "visibility", "hidden"))
            return 1;
    return 0;
}

static int mark_of(const Table *words, const char *names[2], const char *style)
{
    int found = UNMARKED;
    for (int at = 0; at < 2; at++) {
        int mark = names[at] && strcmp(names[at], POSTS) ? mark_of_name(words, names[at]) : UNMARKED;
        found = mark > found ? mark : found;
    }
    return !found && style && hides(style) ? MARKED : found;
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

/* Add UTF-8 that ends with a NUL, also to the part of the line inside links if it is in any. Invalid
 * UTF-8 is found when the text is decoded. */
static void add_to_line(Walk *walk, const char *content, int in_links)
{
    Line *line = &walk->line, unused = {0}, *links = in_links ? &walk->links : &unused;
    size_t size = strlen(content);
    At at = (At)content, end = at + size;

    /* Beside its own, a space may come first. */
    if (walk->text.room - walk->text.used <= size && !grow(&walk->text, size + 1))
        return;
    char *out = walk->text.bytes + walk->text.used;
    while (*at) {
        At next;
        char *word = out + (line->pending && line->width), *to = word;
        Py_ssize_t width = 0;
        *out = ' ';
        for (;;) {
            for (; *at > ' ' && *at < 0x80; at++)
                *to++ = (char)*at;
            next = at;
            uint32_t character = *next < 0x80 ? *next++ : read_character(&next, end);
            if (!*at || is_space(character))
                break;
            width += (is_wide(character) ? 3 : 1) - (next - at);
            while (at < next)
                *to++ = (char)*at++;
        }
        if (to > word) {
            line->width += width + (to - out);
            links->width += width + (to - word) + (links->pending && links->width);
            out = to;
        }
        line->pending = links->pending = *at != 0;
        for (at = *at ? next : at; is_blank((char)*at);)
            at++;
    }
    walk->text.used = (size_t)(out - walk->text.bytes);
}

/* Add the text that begins with a node: the text of an element, or its tail. */
static void add_text(Walk *walk, const Node *node, int in_links)
{
    for (; node && is_text(node); node = node->next) {
        if (node->content)
            add_to_line(walk, content_of(node), in_links);
    }
}

static void end_piece(Walk *walk, int kind)
{
    if (walk->line.width) {
        Piece piece = {walk->begin, walk->text.used, walk->line.width, walk->links.width, kind, 0, 0};
        append(&walk->pieces, &piece, sizeof piece);
        append(&walk->text, "\n", 1);
    }
    walk->begin = walk->text.used;
    memset(&walk->line, 0, sizeof walk->line);
    memset(&walk->links, 0, sizeof walk->links);
}

static void add_span(Walk *walk, const Node *element, Py_ssize_t start, int kind)
{
    Span span = {start, count_pieces(walk), 0, 0, 0, kind == BESIDE ? MARKED : UNMARKED,
                 kind < LEAF, 0};
    if (element->properties && !span.mark) {
        int *is_odd = &walk->is_odd;
        const char *names[] = {value_of(element, "class", is_odd), value_of(element, "id", is_odd)};
        const char *role = value_of(element, "role", is_odd);
        const char *modal = value_of(element, "aria-modal", is_odd);
        if ((modal && !strcmp(modal, "true")) ||
            (role && (!strcmp(role, "dialog") || !strcmp(role, "alertdialog"))))
            span.mark = DIALOG;
        else
            span.mark = mark_of(walk->words, names, value_of(element, "style", is_odd));
    }
    append(&walk->spans, &span, sizeof span);
}

/* The first node from there on that lxml has an object for. Others than text end the walk. */
static const Node *next_in_tree(Walk *walk, const Node *node)
{
    for (; node && !is_in_tree(node); node = node->next)
        walk->is_odd |= !is_text(node);
    return node;
}

int has_failed(const Walk *walk)
{
    return walk->text.failed | walk->pieces.failed | walk->spans.failed | walk->stack.failed |
           walk->skipped.failed;
}

/* Cut what is inside of an element into pieces. */
static void cut(Walk *walk, const Node *root, Actions *actions)
{
    Py_ssize_t start = count_pieces(walk);
    int kind = BLOCK, links = 0, starts = 1;
    const Node *node = root;

    for (;;) {
        int action = action_of(actions, node), is_skipped = 0;
        if (walk->is_odd || has_failed(walk))
            return;
        if (action >= BLOCK) {
            end_piece(walk, kind);
            if (starts) {
                Around around = {start, kind};
                append(&walk->stack, &around, sizeof around);
                kind = action;
                start = count_pieces(walk);
            } else {
                Around around;
                if (count_pieces(walk) > start && walk->words)
                    add_span(walk, node, start, kind);
                walk->stack.used -= sizeof around;
                memcpy(&around, walk->stack.bytes + walk->stack.used, sizeof around);
                kind = around.kind;
                start = around.start;
            }
        } else if (action == LINK) {
            if (attribute_of(node, "href") || !attribute_of(node, "name"))
                links += starts ? 1 : -1;
        } else if (action == SPACE) {
            walk->line.pending = 1;
        } else if (action == SKIP && starts) {
            append(&walk->skipped, &node, sizeof node);
            is_skipped = 1;
        }
        const Node *inside = NULL;
        if (starts && node->type == XML_ELEMENT_NODE && !is_skipped) {
            add_text(walk, node->children, links > 0);
            inside = next_in_tree(walk, node->children);
        }
        if (inside) {
            node = inside;
            starts = 1;
        } else if (starts && node->type == XML_ELEMENT_NODE) {
            starts = 0; /* its end comes next */
        } else if (node == root) {
            break;
        } else {
            add_text(walk, node->next, links > 0);
            const Node *beside = next_in_tree(walk, node->next);
            starts = beside != NULL;
            node = beside ? beside : node->parent;
        }
    }
    end_piece(walk, kind);
}

void walk_tree(Walk *walk, PyObject *root, const Table *table, const Table *words)
{
    const Node *node = node_of(root);
    Actions actions = {.table = table};
    Span page = {0, 0, 0, 0, 0, UNMARKED, 1, 0};

    walk->words = words;
    walk->is_odd = !node;
    if (walk->is_odd)
        return;
    cut(walk, node, &actions);
    page.stop = count_pieces(walk);
    append(&walk->spans, &page, sizeof page);
}

void walk_skipped(Walk *walk, const Table *visible)
{
    size_t skipped = walk->skipped.used / sizeof(Node *);
    Actions actions = {.table = visible};
    walk->words = NULL;
    for (size_t at = 0; at < skipped && !walk->is_odd && !walk->skipped.failed; at++) {
        const Node *node;
        memcpy(&node, walk->skipped.bytes + at * sizeof node, sizeof node);
        if (action_of(&actions, node) != SKIP)
            cut(walk, node, &actions);
    }
}

void free_walk(Walk *walk)
{
    free(walk->text.bytes);
    free(walk->pieces.bytes);
    free(walk->spans.bytes);
    free(walk->stack.bytes);
    free(walk->skipped.bytes);
}
