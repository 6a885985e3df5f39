"""Files in the shapes that scrapers, spreadsheets and shops write."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess

import pytest
from corpora import jsonl
from loopback import article, prose

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


def table(content):
    """The rows of an output, which has the usual dialect."""
    assert content.count(b"\n") == content.count(b"\r\n")
    return list(csv.reader(io.StringIO(content.decode(), newline="")))


def test_the_first_rows_of_a_large_table_are_enough(dedupe):
    """Wherever they are cut: within quotation marks, mostly."""
    cells = ((prose(n, 9), f"{prose(n, 300)}; \"{n}\" 'it' is\\ ") for n in range(90))
    lines = (f'{name},"{text.replace(chr(34), chr(34) * 2)}"' for name, text in cells)
    content = rows("name,text", *lines).encode()
    assert len(content) > 2 << 16
    assert dedupe("in.csv", content)[0] == content.replace(b"\n", b"\r\n")
    found = dedupe("in.csv", content, output="out.jsonl")[0]
    assert json.loads(found.splitlines()[-1])["text"].endswith("; \"89\" 'it' is\\ ")


def test_a_first_row_may_be_longer_than_what_is_looked_at(dedupe):
    """Within its quotation marks, many lines have as many commas as the header."""
    page = rows(*(f"{prose(n, 5)}, {n}" for n in range(2000)))
    content = rows("name,page", f'Bed,"{page}"', f"Bench,{BLURB}").encode()
    assert len(page) > 1 << 16
    found = dedupe("in.csv", content, output="out.jsonl")[0]
    assert [json.loads(line)["name"] for line in found.splitlines()] == ["Bed", "Bench"]


def test_the_values_of_rows_are_written_in_the_usual_dialect(dedupe):
    kept = ['"a; b";"say ""hi"""', " c ;", '"two\r\nlines";x']
    content = b"\xef\xbb\xbf" + rows("sep=;", '"name";text', *kept, *kept, end="\r\n").encode()
    found, told = dedupe("in.csv", content[:-2])
    assert found.splitlines()[:2] == [b"name,text", b'a; b,"say ""hi"""']
    assert table(found)[2:] == [[" c ", ""], ["two\r\nlines", "x"]]
    assert told == "6 items read, 3 kept, 3 dropped\n"


def test_tables_of_several_dialects_are_one(tmp_path, call):
    (tmp_path / "a.csv").write_bytes(b"text,n\r\none,1")
    (tmp_path / "b.csv").write_bytes(b'text;n\n"two, or";2\n"three";3\n')
    output = tmp_path / "out.csv"
    assert call("dedupe", tmp_path / "a.csv", tmp_path / "b.csv", "-o", output)[0] == 0
    rows_ = [["text", "n"], ["one", "1"], ["two, or", "2"], ["three", "3"]]
    assert table(output.read_bytes()) == rows_


def test_tables_with_tabs_have_a_suffix_of_their_own(dedupe):
    content = rows("name\ttext", f"a\t{BLURB}", end="\r\n").encode()
    assert dedupe("in.tsv", content)[0] == content
    assert dedupe("in.csv", content, output="out.tsv")[0] == content
    as_commas = rows("name,text", f"a,{BLURB}").encode()
    assert dedupe("in.csv", as_commas, output="out.tsv")[0] == content


def test_the_column_of_a_data_frame_has_a_name(dedupe):
    content = rows(",title,text", *(f"{n},Report,{BLURB}" for n in range(3))).encode()
    found = dedupe("in.csv", content, "--ignore", "Unnamed: 0")[0]
    assert table(found) == [["", "title", "text"], ["0", "Report", BLURB]]
    as_items = dedupe("in.csv", content, "--ignore", "Unnamed: 0", output="out.jsonl")[0]
    assert json.loads(as_items) == {"Unnamed: 0": "0", "title": "Report", "text": BLURB}


def test_columns_of_one_name_are_told_apart(dedupe):
    content = rows("text,tag,tag", f"{BLURB},a,b", f"{BLURB},a,c", f"{BLURB},a,b").encode()
    found, told = dedupe("in.csv", content)
    assert table(found) == [["text", "tag", "tag"], [BLURB, "a", "b"], [BLURB, "a", "c"]]
    assert "tag.1: 1, as in items 1 and 2: b -> c" in told
    assert dedupe("in.csv", content, "--ignore", "tag")[0].count(b"\n") == 2


def test_a_header_is_no_item_where_a_second_crawl_appended_to_the_file(dedupe):
    header, one, other = "title,text", f"Bed,{BLURB}", f"Bench,{BLURB}"
    content = rows(header, one, "", header, one, other, header).encode()
    found, told = dedupe("in.csv", content)
    assert found == rows(header, one, other, end="\r\n").encode()
    assert told.startswith("3 items read, 2 kept, 1 dropped")
    assert table(dedupe("in.csv", rows("word", "a", "word").encode())[0])[1:] == [["a"], ["word"]]


def test_rows_that_do_not_fit_the_header_are_rejected_and_nothing_is_lost(dedupe, tmp_path):
    bad = ["Bed,a blurb, and more,9", "Bench"]
    good = [f"Chest,{BLURB},9", "Desk,short,9,,"]
    content = rows("name,text,eur", bad[0], *good, bad[1]).encode()
    rejects = tmp_path / "rejects.csv"
    found, told = dedupe("in.csv", content, "--rejects", rejects, code=3)
    assert found == rows("name,text,eur", *good, end="\r\n").encode()
    assert rejects.read_bytes() == rows("name,text,eur", *bad, end="\r\n").encode()
    assert "line 2: 4 cells, but the header has 3" in told
    assert "line 5: 1 cell, but the header has 3" in told


@pytest.mark.parametrize(
    "value",
    ["https://a.example/1", "2024-03-07 07:24", "31.12.2023", "A river rose again, and " * 2],
)
def test_a_first_row_that_is_an_item_is_told(dedupe, value):
    given = [["Bed", value.strip(), BLURB], ["Bench", "x", BLURB], ["Bed", value.strip(), BLURB]]
    content = "".join(f'"{a}","{b}","{c}"\n' for a, b, c in given).encode()
    assert "first row names the columns, but has" in dedupe("in.csv", content)[1]
    found, told = dedupe("in.csv", content, "--no-header")
    assert told.startswith("3 items read, 2 kept")
    assert table(found) == given[:2]
    found = dedupe("in.csv", content, "--no-header", output="out.jsonl")[0]
    names = ("Unnamed: 0", "Unnamed: 1", "Unnamed: 2")
    assert [*map(json.loads, found.splitlines())] == [
        dict(zip(names, row, strict=True)) for row in given[:2]
    ]


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (b"PK\x03\x04", ".xlsx"),
        (b"\xd0\xcf\x11\xe0", ".xls"),
        (b"\x1f\x8b", ".gz"),
        (b"PAR1", "Parquet"),
    ],
)
@pytest.mark.parametrize("name", ["in.csv", "in.jsonl"])
def test_what_is_no_text_is_called_so(call, tmp_path, name, start, message):
    (tmp_path / name).write_bytes(start + bytes(99))
    code, _, err = call("dedupe", tmp_path / name, "-o", tmp_path / "out.csv")
    assert code == 2
    assert f"{tmp_path / name}: no text, but" in err
    assert message in err


# JSON


ITEMS = [{"n": n, "text": prose(n % 2, 60)} for n in range(4)]
IGNORE = ("--ignore", "n")


def test_arrays_that_a_crawl_has_appended_to_each_other_are_one(dedupe):
    content = b"\n".join(json.dumps(ITEMS[n : n + 2]).encode() for n in (0, 2))
    assert json.loads(dedupe("in.json", content, *IGNORE)[0]) == ITEMS[:2]
    assert json.loads(dedupe("in.json", content, "--fields", "n")[0]) == ITEMS


def test_elements_that_are_no_items_are_rejected(dedupe, tmp_path):
    bad, good = ["1", '"a, ] b"', "null", "[1, [2]]"], [json.dumps(item) for item in ITEMS[:2]]
    content = f"[{', '.join([good[0], *bad, good[1]])}]".encode()
    rejects = tmp_path / "rejects.jsonl"
    found, told = dedupe("in.json", content, "--rejects", rejects, code=3)
    assert json.loads(found) == ITEMS[:2]
    assert rejects.read_text().splitlines() == bad
    assert "item 2: not a JSON object" in told


def test_objects_that_end_in_a_comma_are_lines_and_one_that_has_nested_values_too(dedupe):
    one = jsonl([{"url": "http://a.test/", "place": {"at": {"lat": 1}}}])
    assert dedupe("in.json", one, output="out.jsonl")[0] == one
    content = jsonl(ITEMS).replace(b"}\n", b"},\r\n")
    for name in ("in.jsonl", "in.json"):
        assert dedupe(name, content, *IGNORE, output="out.jsonl")[0] == jsonl(ITEMS[:2])


@pytest.mark.parametrize("lines", [1, 2])
@pytest.mark.parametrize("indent", [None, 1])
def test_objects_that_hold_the_items_are_refused_with_what_writes_these(
    call, tmp_path, indent, lines
):
    """Two levels deep, on one line or many, alone or appended to each other."""
    held = {"paper": {"rss": "x", "articles": ITEMS[:2]}, "other": {"articles": ITEMS[2:]}}
    text = json.dumps(held, indent=indent) + "\n" * (indent is not None)
    path, output = tmp_path / "in.json", tmp_path / "out.json"
    path.write_text(text * lines)
    code, _, err = call("dedupe", path, "-o", output)
    assert code == 2
    assert """jq -c '.. | .["articles"]? // empty | .[]' writes these""" in err
    if jq := shutil.which("jq"):
        query = err.partition("jq -c '")[2].partition("'")[0]
        path.write_bytes(subprocess.check_output([jq, "-c", query, str(path)]))
        assert call("dedupe", path, "-o", output, "--fields", "n")[0] == 0
        assert json.loads(output.read_bytes()) == ITEMS


def test_an_array_is_read_piece_by_piece(dedupe, monkeypatch):
    monkeypatch.setattr("scrapy_simhash.feed.json_file.CHUNK_BYTES", 7)
    items = [item | {"more": [{"a": '\\"[{'}, 1.5, None, True, []]} for item in ITEMS]
    for indent in (None, 3):
        content = json.dumps(items, indent=indent).encode()
        assert json.loads(dedupe("in.json", content, "--fields", "n")[0]) == items


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
    "cp932": "前の日に誰が水門を閉めたのか、誰も知らなかった。潮が引いて、ひび割れが見えた。",
    "euc_jp": "前の日に誰が水門を閉めたのか、誰も知らなかった。潮が引いて、ひび割れが見えた。",
    "cp949": "전날 저녁에 누가 수문을 닫았는지 마을에서 아무도 몰랐다. 사람들은 균열을 보았다.",
    "cp1251": "Никто в городе не знал, кто закрыл шлюз накануне. Люди увидели трещины в стене.",
    "cp1256": "لم يعرف أحد في المدينة من أغلق السد في الليلة السابقة. رأى الناس الشقوق في الجدار",
    "cp1252": " ".join(f"Größe é{n}" for n in range(40)),
}
WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig")


def feed_in(encoding, form):
    """Items in a text, the third a copy of the first, and the content of a file with them."""
    text = TEXTS.get(encoding, TEXTS["gb18030"])
    items = [{"title": title, "text": text} for title in "aba"]
    lines = [json.dumps(item, ensure_ascii=False) for item in items]
    content = {
        "csv": rows("title,text", *(f'{one["title"]},"{one["text"]}"' for one in items)),
        "jsonl": rows(*lines),
        "json": f"[{','.join(lines)}]",
    }[form]
    return items, content.encode(encoding)


@pytest.mark.parametrize("form", ["csv", "json"])
@pytest.mark.parametrize("encoding", [*TEXTS, *WIDE])
def test_text_in_any_encoding_becomes_utf_8(dedupe, form, encoding):
    """Named or not; a guess is printed."""
    items, content = feed_in(encoding, form)
    for named in ([], ["--encoding", encoding]):
        found, told = dedupe(f"in.{form}", content, *named, output="out.jsonl")
        assert found == jsonl(items[:2])
        assert (f"in.{form}: not UTF-8, read as {encoding} (" in told) is (
            encoding not in WIDE and not named
        )


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_what_looks_like_another_encoding_than_the_named_one_is_told(dedupe, form):
    content = feed_in("cp949", form)[1]
    told = dedupe(f"in.{form}", content, "--encoding", "gb18030")[1]
    assert f"in.{form}: read as gb18030, but it looks like cp949 (Korean)" in told
    assert "looks" not in dedupe(f"in.{form}", content, "--encoding", "euc_kr")[1]


@pytest.mark.parametrize(
    ("header", "encoding"),
    [
        ("任务号码,任务gps纬度,标记", "gb18030"),
        ("기사,제목,美 연준", "cp949"),
        ("データコード,系列名称,値", "cp932"),
        ("price,£,name", "cp1252"),
    ],
)
def test_a_header_is_enough_for_a_guess(dedupe, header, encoding):
    found, told = dedupe("in.csv", f"{header}\n1,2,3\n".encode(encoding))
    assert f"read as {encoding} (" in told
    assert table(found)[0] == header.split(",")


def test_some_bytes_that_are_damaged_make_no_other_encoding(dedupe, tmp_path):
    good, bad = "".join(f"a{n},{TEXTS['gb18030']}\n" for n in range(9)).encode(), b"b,\xff\xff\n"
    rejects = tmp_path / "rejects.csv"
    found, told = dedupe("in.csv", b"n,text\n" + good + bad, "--rejects", rejects, code=3)
    assert found.replace(b"\r\n", b"\n") == b"n,text\n" + good
    assert rejects.read_bytes() == b"n,text\r\nb,\xff\xff\r\n"
    assert (
        "line 11: not UTF-8; name its encoding, as in --encoding gb18030 (Chinese), big5 (" in told
    )


def test_lines_behind_the_first_ones_are_rejected_if_they_are_not_in_utf_8(dedupe):
    good = jsonl([{"n": n, "text": prose(n, 60)} for n in range(300)])
    bad = [json.dumps({"text": TEXTS["cp949"]}, ensure_ascii=False).encode("cp949") + b"\n"] * 30
    found, told = dedupe("in.jsonl", good + b"".join(bad), code=3)
    assert found == good
    assert told.count("not UTF-8") == 1
    assert "line 301: not UTF-8; name its encoding, as in --encoding gb18030" in told
    assert "29 more lines can't be read" in told


def test_empty_rows_do_not_make_a_file_readable(call, tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes(b"a,b\n,\n\x81\x81\xff,x\n,\n")
    code, _, err = call("dedupe", path, "-o", tmp_path / "out.csv")
    assert code == 2
    assert "line 3: not UTF-8" in err
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["klingon", "hex", "rot13", ""])
def test_an_unknown_encoding_is_refused(call, tmp_path, name):
    code, _, err = call("dedupe", tmp_path / "in.csv", "-o", "out.csv", f"--encoding={name}")
    assert code == 2
    assert "unknown encoding; Python knows utf-8, gb18030 (Chinese), big5 (Chinese)" in err


# Empty rows
