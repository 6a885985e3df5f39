"""Files in the shapes that scrapers, spreadsheets and shops write."""

from __future__ import annotations

import gzip
import io
import json
import sys

import pytest
from corpora import jsonl
from loopback import article, prose
from scrapy.cmdline import execute
from scrapy.settings import Settings

from scrapy_simhash.feed.files import open_source

BLURB = prose("a blurb", 60)


@pytest.fixture
def dedupe(call, tmp_path):
    """Call the command on the content of a file; gives its output, and what it prints."""

    def run(name, content, *arguments, output=None, code=0):
        source, target = tmp_path / name, tmp_path / (output or f"out.{name}")
        source.write_bytes(content)
        target.unlink(missing_ok=True)
        ended, out, err = call("dedupe", source, "-o", target, *arguments)
        assert ended == code, err
        return target.read_bytes(), out + err

    return run


# CSV


def rows(*given, end="\n"):
    return "".join(f"{row}{end}" for row in given)


@pytest.mark.parametrize("delimiter", [";", "\t", "|", ","])
def test_products_with_one_text_are_kept_whatever_stands_between_cells(dedupe, delimiter):
    header, *items = (
        delimiter.join(cells)
        for cells in (("name", "blurb", "eur"), ("Bed", BLURB, "90"), ("Bench", BLURB, "90"))
    )
    content = rows(header, *items).encode()
    assert dedupe("in.csv", content) == (content, "2 items read, 2 kept, 0 dropped\n" + NAMES)
    assert dedupe("in.csv", content, "--ignore", "name")[0] == rows(header, items[0]).encode()


NAMES = "Kept 1 similar item whose values differ:\n  name: 1, as in items 1 and 2: Bed -> Bench\n"


def test_decimal_commas_and_semicolons_in_quotes_are_no_delimiters(dedupe):
    content = rows("price;text", *(f'19,9{n};"{BLURB}; a, b"' for n in (1, 2))).encode()
    told = dedupe("in.csv", content)[1]
    assert "price: 1, as in items 1 and 2: 19,91 -> 19,92" in told


def test_the_first_rows_of_a_large_table_are_enough(dedupe):
    """Wherever they are cut: within quotation marks, mostly."""
    cells = ((prose(n, 9), f"{prose(n, 300)}; \"{n}\" 'it' is\\ ") for n in range(90))
    lines = (f'{name},"{text.replace(chr(34), chr(34) * 2)}"' for name, text in cells)
    content = rows("name,text", *lines).encode()
    assert len(content) > 2 << 16
    assert dedupe("in.csv", content)[0] == content
    found = dedupe("in.csv", content, output="out.jsonl")[0]
    assert json.loads(found.splitlines()[-1])["text"].endswith("; \"89\" 'it' is\\ ")


def test_a_first_row_may_be_longer_than_what_is_looked_at(dedupe):
    """Within its quotation marks, many lines have as many commas as the header."""
    page = rows(*(f"{prose(n, 5)}, {n}" for n in range(2000)))
    content = rows("name,page", f'Bed,"{page}"', f"Bench,{BLURB}").encode()
    assert len(page) > 1 << 16
    found = dedupe("in.csv", content, output="out.jsonl")[0]
    assert [json.loads(line)["name"] for line in found.splitlines()] == ["Bed", "Bench"]


def test_rows_are_copied_as_they_are_written(dedupe):
    """With the mark, the line that names the delimiter, line ends, quotation marks and spaces."""
    kept = ['"a; b";"say ""hi"""', " c ;", '"two\r\nlines";x']
    content = b"\xef\xbb\xbf" + rows("sep=;", '"name";text', *kept, end="\r\n").encode()
    doubled = content + rows(*kept, end="\r\n").encode()
    found, told = dedupe("in.csv", doubled[:-2])
    assert found == content
    assert told == "6 items read, 3 kept, 3 dropped\n"


def test_a_last_row_without_an_end_gets_that_of_the_others(dedupe, tmp_path, call):
    for name, cell in (("a", "one"), ("b", "two")):
        (tmp_path / f"{name}.csv").write_bytes(f"text\r\n{cell}".encode())
    output = tmp_path / "out.csv"
    assert call("dedupe", tmp_path / "a.csv", tmp_path / "b.csv", "-o", output)[0] == 0
    assert output.read_bytes() == b"text\r\none\r\ntwo\r\n"


def test_tables_with_tabs_have_a_suffix_of_their_own(dedupe):
    content = rows("name\ttext", f"a\t{BLURB}").encode()
    assert dedupe("in.tsv", content)[0] == content
    assert dedupe("in.csv", content, output="out.tsv")[0] == content
    as_commas = rows("name,text", f"a,{BLURB}").encode()
    assert dedupe("in.csv", as_commas, output="out.tsv")[0] == content.replace(b"\n", b"\r\n")


def test_the_column_of_a_data_frame_has_a_name(dedupe):
    content = rows(",title,text", *(f"{n},Report,{BLURB}" for n in range(3))).encode()
    header = content.splitlines(keepends=True)
    assert dedupe("in.csv", content, "--ignore", "Unnamed: 0")[0] == b"".join(header[:2])
    as_items = dedupe("in.csv", content, "--ignore", "Unnamed: 0", output="out.jsonl")[0]
    assert json.loads(as_items) == {"Unnamed: 0": "0", "title": "Report", "text": BLURB}


def test_columns_of_one_name_are_told_apart(dedupe):
    content = rows("text,tag,tag", f"{BLURB},a,b", f"{BLURB},a,c", f"{BLURB},a,b").encode()
    found, told = dedupe("in.csv", content)
    assert found == content[: content.rindex(BLURB.encode())]
    assert "tag.1: 1, as in items 1 and 2: b -> c" in told
    assert dedupe("in.csv", content, "--ignore", "tag")[0].count(b"\n") == 2


def test_a_header_is_no_item_where_a_second_crawl_appended_to_the_file(dedupe):
    header, one, other = "title,text", f"Bed,{BLURB}", f"Bench,{BLURB}"
    content = rows(header, one, "", header, one, other, header).encode()
    found, told = dedupe("in.csv", content)
    assert found == rows(header, one, other).encode()
    assert told.startswith("3 items read, 2 kept, 1 dropped")
    words = rows("word", "a", "word").encode()
    assert dedupe("in.csv", words)[0] == words


def test_rows_that_do_not_fit_the_header_are_rejected_and_nothing_is_lost(dedupe, tmp_path):
    bad = ["Bed,a blurb, and more,9", "Bench"]
    good = [f"Chest,{BLURB},9", "Desk,short,9,,"]
    content = rows("name,text,eur", bad[0], *good, bad[1]).encode()
    rejects = tmp_path / "rejects.csv"
    found, told = dedupe("in.csv", content, "--rejects", rejects, code=3)
    assert found == rows("name,text,eur", *good).encode()
    assert rejects.read_bytes() == rows("name,text,eur", *bad).encode()
    assert "line 2: 4 cells, but the header has 3" in told
    assert "line 5: 1 cell, but the header has 3" in told


def test_blank_lines_above_a_header_are_no_header(dedupe):
    content = rows("", "name,text", f"a,{BLURB}").encode()
    assert dedupe("in.csv", content)[0] == content


# JSON


ITEMS = [{"n": n, "text": prose(n % 2, 60)} for n in range(4)]
IGNORE = ("--ignore", "n")


@pytest.mark.parametrize("name", ["in.json", "in.jsonl", "in.json.gz", "in.jl.gz"])
def test_an_array_is_read_whatever_its_name(dedupe, name):
    """Written as what the name of the output says."""
    content = json.dumps(ITEMS, indent=2).encode()
    content = gzip.compress(content) if name.endswith("gz") else content
    found, told = dedupe(name, content, *IGNORE, output="out.jsonl")
    assert [json.loads(line) for line in found.splitlines()] == ITEMS[:2]
    assert told == "4 items read, 2 kept, 2 dropped\n"
    assert json.loads(dedupe(name, content, *IGNORE, output="out.json")[0]) == ITEMS[:2]


@pytest.mark.parametrize(
    "kept", [[0, 1], [1, 0], [0], []], ids=["both", "turned", "first", "nothing"]
)
@pytest.mark.parametrize("between", [",\n", ", ", ",", " ,\n\n  "])
def test_elements_are_copied_as_they_are_written(dedupe, between, kept):
    texts = [json.dumps(ITEMS[n], indent=n or None) for n in kept]
    around = [("[\n", "\n]"), ("[", "]\n"), (" [ ", "\n]\n"), ("[", "]")]
    for opening, end in around:
        content = f"{opening}{between.join(texts * 2)}{end}".encode()
        expected = f"{opening}{between.join(texts)}{end}".encode()
        assert dedupe("in.json", content, *IGNORE)[0] == expected or not kept


def test_arrays_that_a_crawl_has_appended_to_each_other_are_one(dedupe):
    content = b"\n".join(json.dumps(ITEMS[n : n + 2]).encode() for n in (0, 2))
    assert json.loads(dedupe("in.json", content, *IGNORE)[0]) == ITEMS[:2]
    assert json.loads(dedupe("in.json", content, "--fields", "n")[0]) == ITEMS


def test_several_arrays_become_one(call, tmp_path):
    for n in range(3):
        (tmp_path / f"{n}.json").write_text(json.dumps(ITEMS[n : n + 1] if n else []))
    output = tmp_path / "out.json"
    sources = [tmp_path / f"{n}.json" for n in range(3)]
    assert call("dedupe", *sources, "-o", output)[0] == 0
    assert json.loads(output.read_bytes()) == ITEMS[1:3]


def test_elements_that_are_no_items_are_rejected(dedupe, tmp_path):
    bad = ["1", '"a, ] \\" b"', "null", "[1, [2]]", '{"a": }', '{"text": "\x01"}', "{]"]
    good = [json.dumps(item) for item in ITEMS[:2]]
    content = f"[{', '.join([good[0], *bad, good[1]])}]".encode()
    rejects = tmp_path / "rejects.jsonl"
    found, told = dedupe("in.json", content, "--rejects", rejects, code=3)
    assert json.loads(found) == ITEMS[:2]
    assert rejects.read_text().splitlines() == bad
    assert "item 2: not a JSON object" in told
    assert "item 6: invalid JSON" in told


def test_lines_named_as_json_are_lines(dedupe):
    content = jsonl(ITEMS)
    assert json.loads(dedupe("in.json", content, *IGNORE)[0]) == ITEMS[:2]
    assert dedupe("in.json", content, *IGNORE, output="out.jsonl")[0] == jsonl(ITEMS[:2])


def test_an_array_is_read_piece_by_piece(dedupe, monkeypatch):
    monkeypatch.setattr("scrapy_simhash.feed.arrays.CHUNK_BYTES", 7)
    items = [item | {"more": [{"a": '\\"[{'}, 1.5, None, True, []]} for item in ITEMS]
    for indent in (None, 3):
        content = json.dumps(items, indent=indent).encode()
        assert json.loads(dedupe("in.json", content, "--fields", "n")[0]) == items


def test_lines_of_a_plain_file_are_not_sent_to_other_processes(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_bytes(jsonl(ITEMS))
    (chunk,) = open_source(path).chunks()
    assert chunk.packed.content == b""
    path.write_bytes(b"\xef\xbb\xbf" + jsonl(ITEMS))
    (chunk,) = open_source(path).chunks()
    assert chunk.packed.content == jsonl(ITEMS)


@pytest.mark.parametrize("given", ["json", "json.gz", "csv"])
def test_pipes_have_any_format(monkeypatch, capsysbinary, given):
    content = json.dumps(ITEMS).encode()
    if given == "csv":
        content = rows("n;text", *(f"{item['n']};{item['text']}" for item in ITEMS)).encode()
    packed = gzip.compress(content) if given.endswith("gz") else content
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
    with pytest.raises(SystemExit) as ended:
        execute(
            ["scrapy", "simhash", "dedupe", "-", "-o", "-", "--format", given, *IGNORE], Settings()
        )
    assert ended.value.code == 0
    out = capsysbinary.readouterr().out
    out = gzip.decompress(out) if given.endswith("gz") else out
    expected = content[: content.index(b"2;")] if given == "csv" else json.dumps(ITEMS[:2]).encode()
    assert out == expected


# HTML


def test_markup_in_a_feed_is_text(dedupe):
    """Of a fragment all that shows, whatever its tags are."""
    parts = [f"<p>{prose(n, 40)}</p>" for n in range(3)]
    items = [
        {"handle": "a lamp", "body_html": "".join(parts)},
        {
            "handle": "a lamp",
            "body_html": f"<div class=x>{' '.join(parts)}<script>a()</script></div>",
        },
        {"handle": "a lamp", "body_html": "".join(parts[1:]) + f"<p>{prose('other', 40)}</p>"},
    ]
    assert dedupe("in.jsonl", jsonl(items))[0] == jsonl(items[::2])
    assert dedupe("in.jsonl", jsonl(items), "--fields", "body_html")[0] == jsonl(items[::2])


def page(text: str, title: str, menu: str) -> str:
    nav = "".join(f"<li><a href=/{n}>{menu} {prose(n, 2)}</a>" for n in range(9))
    return f"<!DOCTYPE html><title>{title}</title><ul>{nav}</ul>{article(text).decode()}"


def test_a_page_in_a_feed_is_compared_by_its_main_text_and_its_facts(dedupe):
    items = [
        {"url": "http://a.test/1", "html": page("a story", "A flood", "News")},
        {"url": "http://a.test/2", "html": page("a story", "A flood", "Sports")},
        {"url": "http://a.test/3", "html": page("a story", "A fire", "News")},
        {"url": "http://a.test/4", "html": page("other", "A flood", "News")},
    ]
    found, told = dedupe("in.jsonl", jsonl(items))
    assert found == jsonl([items[0], *items[2:]])
    assert "title of the page: 1, as in items 1 and 3: A flood -> A fire" in told


def test_markup_that_can_not_be_parsed_is_compared_without_its_tags(dedupe):
    many = "<b>" * 100_001
    items = [{"html": f"<p>{many}{BLURB}</p>"}, {"html": f"<p>{many}{prose('x', 60)}</p>"}]
    items.append({"html": f"<i>{items[0]['html']}</i>"})
    assert dedupe("in.jsonl", jsonl(items))[0] == jsonl(items[:2])


# Encodings


TEXTS = {
    "gb18030": "镇上没有人知道是谁在前一天晚上关上了水闸，潮水退去以后，人们才看见堤坝上的裂缝。",
    "big5": "鎮上沒有人知道是誰在前一天晚上關上了水閘，潮水退去以後，人們才看見堤壩上的裂縫。",
    "shift_jis": "前の日に誰が水門を閉めたのか、誰も知らなかった。潮が引いて、ひび割れが見えた。",
    "cp1252": " ".join(f"Größe é{n}" for n in range(40)),
}
WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig")


@pytest.mark.parametrize("form", ["csv", "jsonl", "json"])
@pytest.mark.parametrize("encoding", [*TEXTS, *WIDE])
def test_text_in_any_encoding_becomes_utf_8(dedupe, form, encoding):
    text = TEXTS.get(encoding, TEXTS["gb18030"])
    items = [
        {"title": "a", "text": text},
        {"title": "b", "text": text},
        {"title": "a", "text": text},
    ]
    lines = [json.dumps(item, ensure_ascii=False) for item in items]
    as_text = {
        "csv": lambda some: rows("title,text", *(f"{one['title']},{one['text']}" for one in some)),
        "jsonl": lambda some: rows(*lines[: len(some)]),
        "json": lambda some: f"[{','.join(lines[: len(some)])}]",
    }[form]
    named = [] if encoding in WIDE else ["--encoding", encoding]
    found, _ = dedupe(f"in.{form}", as_text(items).encode(encoding), *named)
    has_mark = form == "csv" and encoding in {"utf-16", "utf-32", "utf-8-sig"}
    assert found == as_text(items[:2]).encode("utf-8-sig" if has_mark else "utf-8")


def test_an_encoding_that_nobody_has_named_is_one_line_of_advice(dedupe):
    items = [{"n": n, "text": TEXTS["gb18030"]} for n in range(30)]
    lines = "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items)
    good = b'{"n": 30, "text": "plain"}\n'
    found, told = dedupe("in.jsonl", good + lines.encode("gb18030"), code=3)
    assert found == good
    assert told.count("not UTF-8") == 1
    assert "line 2: not UTF-8; name its encoding, as in --encoding gb18030" in told
    assert "29 more lines can't be read" in told


def test_bytes_that_an_encoding_lacks_are_rejected_as_they_are(dedupe, tmp_path):
    good, bad = f"a,{TEXTS['gb18030']}\n".encode("gb18030"), b"b,\xff\xff\n"
    rejects = tmp_path / "rejects.csv"
    found, told = dedupe(
        "in.csv", b"n,text\n" + good + bad, "--encoding", "gb18030", "--rejects", rejects, code=3
    )
    assert found == b"n,text\n" + good.decode("gb18030").encode()
    assert rejects.read_bytes() == b"n,text\n" + bad
    assert "line 3: not GB18030" in told


def test_a_line_in_an_encoding_of_its_own_is_rejected(dedupe, tmp_path):
    """It would be copied to an output in UTF-8."""
    good, bad = b'{"text": "a"}\n', '{"text": "b"}'.encode("utf-16") + b"\n"
    rejects = tmp_path / "rejects.jsonl"
    found, told = dedupe("in.jsonl", good + bad, "--rejects", rejects, code=3)
    assert (found, rejects.read_bytes()) == (good, bad)
    assert "line 2: not UTF-8" in told


@pytest.mark.parametrize("name", ["klingon", "hex", "rot13", ""])
def test_an_unknown_encoding_is_refused(call, tmp_path, name):
    code, _, err = call("dedupe", tmp_path / "in.csv", "-o", "out.csv", f"--encoding={name}")
    assert code == 2
    assert "unknown encoding; names are utf-8, utf-16, cp1252, gb18030" in err


# Empty rows


def test_empty_rows_are_called_so(dedupe):
    found, told = dedupe("in.csv", rows("a,b", ",", "x,y", ",").encode())
    assert found == rows("a,b", ",", "x,y", ",").encode()
    assert told == "3 items read, 3 kept, 0 dropped, 2 empty and kept\n"
