"""What benchmarks/accuracy.py takes for true, and how it counts."""

from __future__ import annotations

import io
import random
import tarfile
from pathlib import Path

import pytest
from scrapy.http import HtmlResponse

from benchmarks.accuracy_parts.catalogue import GENERATED, generate
from benchmarks.accuracy_parts.judges import PLUGIN
from benchmarks.accuracy_parts.others import matchers, text_judges
from benchmarks.accuracy_parts.packages import SITES, fetch
from benchmarks.accuracy_parts.short import measure_class
from benchmarks.accuracy_parts.sites import (
    Truth,
    content_of,
    count_drops,
    read_site,
    visits_of_site,
)
from benchmarks.accuracy_parts.syndication import distinct, read_sources, syndication, text_in
from benchmarks.accuracy_parts.tables import share, table
from benchmarks.accuracy_parts.texts import EDITS, Pair, accepted, edited
from benchmarks.accuracy_parts.visits import HALVES, Judged, Tally, Visit, half_of, tally
from benchmarks.accuracy_parts.wording import Writer
from scrapy_simhash.text.html import parse_html

WRITER = Writer("tests")
ARTICLES = [[WRITER.prose(60) for _ in range(4)] for _ in range(8)]


def page_of(number: int, *, beside: str = "", name: str = "story") -> str:
    """A page with an article of four paragraphs; each has a template of its own."""
    paragraphs = "".join(f"<p>{text}</p>" for text in ARTICLES[number])
    return (
        f"<html><head><title>Site {'abcdefgh'[number]}</title></head><body class='of{number}'>"
        f"<ul>{''.join(f'<li><a href=/{n}>section {number} {n}</a></li>' for n in range(5))}</ul>"
        f"<div class='{name}{number}'>{paragraphs}</div><div>{beside}</div></body></html>"
    )


def archive_of(folder: Path, pages: dict[str, str]) -> Path:
    path = folder / "pages.tar"
    with tarfile.open(path, "w") as archive:
        for name, page in pages.items():
            member = tarfile.TarInfo(name)
            member.size = len(page.encode())
            archive.addfile(member, io.BytesIO(page.encode()))
    return path


def visit(thing: str, text: str = "", *, kind: str = "page", half: str = HALVES[0]) -> Visit:
    return Visit(f"https://{thing}.example/", thing, kind, half, None, text)


class TestTally:
    def test_copies_are_right_or_wrong_by_what_they_match(self) -> None:
        visits = [visit("a"), visit("b"), visit("a"), visit("a"), visit("a"), visit("c")]
        judged = [Judged(match) for match in (None, None, 0, 1, None, 0)]
        assert tally(visits, judged, ()) == {
            (): Tally(copies=3, found=1, visits=6, wrong=2, things=3, lost=1)
        }

    def test_classes_are_counted_apart_and_share_what_was_seen(self) -> None:
        visits = [visit("a"), visit("a", kind="copy"), visit("b", kind="copy")]
        counted = tally(visits, [Judged(None), Judged(0), Judged(None)], ("kind",))
        assert counted[("page",)].copies == 0
        assert counted[("copy",)] == Tally(copies=1, found=1, visits=2, wrong=0, things=1, lost=0)

    def test_halves_are_of_about_a_size_and_stay_what_they_are(self) -> None:
        halves = [half_of(f"{number}.html") for number in range(1000)]
        assert 400 < halves.count("tuning") < 600
        assert half_of("0.html") == "tuning"
        assert half_of("1.html") == halves[1]


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> list[Visit]:
    pages = {f"pages/en/{number}.html": page_of(number) for number in range(8)}
    archive = archive_of(tmp_path_factory.mktemp("pages"), pages)
    return syndication(read_sources(archive))["en"]


class TestSyndication:
    def test_article_is_under_the_other_template_and_nothing_of_its_own(
        self, visits: list[Visit]
    ) -> None:
        composed = [one for one in visits if one.kind == "syndicated"]
        assert composed
        for one in composed:
            host = one.url.split("/")[2].removesuffix(".example")
            content = text_in(parse_html(one.page or b""))
            assert host != one.thing
            assert f"section {host} 0" in content
            assert f"section {one.thing} 0" not in content
            assert all(text in content for text in ARTICLES[int(one.thing)])
            assert not any(text in content for text in ARTICLES[int(host)])

    def test_pages_are_read_as_what_they_say_they_are_written_in(self, tmp_path: Path) -> None:
        heads = [
            "<meta charset=gb2312>",
            "<meta http-equiv=content-type content='a; charset=big5'>",
        ]
        pages = {
            f"pages/zh/{n}.html": page_of(n, name="渡船").replace("<body", heads[n % 2] + "<body")
            for n in range(8)
        }
        for one in syndication(read_sources(archive_of(tmp_path, pages)))["zh"]:
            response = HtmlResponse(one.url, body=one.page)
            assert one.text in " ".join(response.xpath("//text()").getall())
            assert "渡船" in response.text

    def test_template_and_article_are_of_one_half(self, visits: list[Visit]) -> None:
        for one in visits:
            host = one.url.split("/")[2].removesuffix(".example")
            assert one.half == half_of(one.thing) == half_of(host)

    def test_a_page_fetched_again_has_the_same_text_and_more(self, visits: list[Visit]) -> None:
        again = [one for one in visits if one.kind == "fetched again"]
        original = {one.thing: one for one in visits if one.kind == "original"}
        assert len(again) == len(original) == 8
        for one in again:
            assert one.page != original[one.thing].page
            assert one.url.split("/")[2] == original[one.thing].url.split("/")[2]
            assert one.text in text_in(parse_html(one.page or b""))

    def test_small_articles_comments_and_copies_are_left_out(self, tmp_path: Path) -> None:
        links = "".join(f"<a href=/{n}>{WRITER.name(8)}</a>" for n in range(60))
        pages = {
            "pages/en/small.html": page_of(1, beside=links),
            "pages/en/comments.html": page_of(2, name="comments "),
            "pages/en/one.html": page_of(3),
            "pages/en/same.html": page_of(3).replace("Site 3", "Copy"),
            "pages/en/empty.html": "",
        }
        sources = list(read_sources(archive_of(tmp_path, pages)))
        assert [source.name for source in sources] == ["one", "same"]
        assert [source.name for source in distinct(sources)] == ["one"]
        assert syndication(sources) == {"en": []}  # for want of another template

    def test_two_runs_make_the_same(self, tmp_path: Path) -> None:
        pages = {f"pages/en/{number}.html": page_of(number) for number in range(8)}
        archive = archive_of(tmp_path, pages)
        assert syndication(read_sources(archive)) == syndication(read_sources(archive))

    def test_plugin_finds_them_by_pages_and_by_items(self, visits: list[Visit]) -> None:
        for judge in PLUGIN:
            counted = tally(visits, judge.judge(visits), ())[()]
            assert counted.found == counted.copies > 8, judge.name
            assert counted.wrong == counted.lost == 0, judge.name


class TestSites:
    def test_selector_takes_elements_and_texts(self) -> None:
        root = parse_html(
            "<body><div class=nav>Menu</div>Bare text<p>and a paragraph<script>x</script></p>"
        )
        found = content_of(root, "//body/node()[not(self::div)]")
        assert found is not None
        text, print_view = found
        assert text == "Bare text and a paragraph"
        assert b"Menu" not in print_view
        assert b"Bare text" in print_view
        assert content_of(root, "//main") is None

    @pytest.fixture
    def versions(self, tmp_path: Path) -> list[tuple[str, list]]:
        """Four pages, of which one changes, one goes and one comes."""
        menu = "<ul><li><a href='/a.html'>All pages</a></ul>"
        versions = []
        for version, texts in (
            ("1", {"a": 0, "b": 1, "c": 2, "d": 3}),
            ("2", {"a": 0, "b": 1, "c": 4, "e": 5}),
        ):
            folder = tmp_path / version
            folder.mkdir()
            for name, number in texts.items():
                paragraphs = "".join(f"<p>{text}</p>" for text in ARTICLES[number])
                page = f"<title>{name}</title>{menu}<main>{paragraphs}</main>"
                (folder / f"{name}.html").write_text(page)
            (folder / "empty.html").write_text("<main></main>")
            versions.append((version, list(read_site(folder, "//main"))))
        return versions

    def test_copies_are_known_by_what_the_site_calls_its_content(
        self, versions: list[tuple[str, list]]
    ) -> None:
        assert [len(pages) for _, pages in versions] == [4, 4]
        visits = visits_of_site("manual", versions)
        truth = Truth.of(visits)
        new = {
            one.url[-6:]: truth.nearest[number]
            for number, one in enumerate(visits)
            if one.kind == "new version"
        }
        assert new["a.html"] == new["b.html"] == 1
        assert new["c.html"] < 0.5
        assert new["e.html"] < 0.5
        for number, one in enumerate(visits):
            if one.kind in {"session", "print"}:
                assert truth.nearest[number] == 1

    def test_what_is_lost_and_what_is_found(self, versions: list[tuple[str, list]]) -> None:
        visits = visits_of_site("manual", versions)[:8]
        judged = [Judged(None)] * 4 + [Judged(0), Judged(None, "title"), Judged(2), Judged(None)]
        drops = count_drops(visits, judged, Truth.of(visits), HALVES)
        assert drops.copies == 2
        assert drops.found == 1
        assert drops.drops == 2
        assert drops.lost == 1  # c of the second version against that of the first
        assert drops.grey == 0
        assert drops.differs == {"title": 1}
        by_half = [count_drops(visits, judged, Truth.of(visits), [half]) for half in HALVES]
        assert sum(part.pages for part in by_half) == drops.pages == 8

    def test_plugin_loses_nothing(self, versions: list[tuple[str, list]]) -> None:
        visits = visits_of_site("manual", versions)
        for judge in (*PLUGIN[:2], text_judges()[0]):
            drops = count_drops(visits, judge.judge(visits), Truth.of(visits), HALVES)
            assert drops.found == drops.copies == 2, judge.name
            assert drops.again_found == drops.again > 0, judge.name
            assert drops.lost == drops.grey == 0, judge.name

    def test_what_was_fetched_is_not_fetched_again(self, tmp_path: Path) -> None:
        site = SITES[0]
        pages = tmp_path / f"{site.package}-{site.versions[0]}" / "inside" / site.folder
        pages.mkdir(parents=True)
        assert fetch(site, site.versions[0], tmp_path) == pages
        pages.rmdir()
        with pytest.raises(OSError, match=f"has no folder {site.folder}"):
            fetch(site, site.versions[0], tmp_path)


class TestGenerated:
    @pytest.mark.parametrize("kind", GENERATED, ids=lambda kind: kind.name)
    def test_things_are_different_and_copies_say_what_they_copy(self, kind: object) -> None:
        visits = generate(kind, 60)
        things = [one for one in visits if one.kind == "thing"]
        copies = [one for one in visits if one.kind != "thing"]
        assert len({one.text for one in things}) == len(things) == 60
        assert [one.kind for one in copies] == ["session", "category", "print"]
        text = {one.thing: one.text for one in things}
        assert all(one.thing in text for one in copies)
        assert len({one.url for one in visits}) == len(visits)
        assert generate(kind, 60) == visits

    def test_common_words_are_in_every_page(self) -> None:
        kind = next(kind for kind in GENERATED if kind.common == 80)
        common = Writer(kind.name).prose(80)
        assert all(common in (one.page or b"").decode() for one in generate(kind, 60))


class TestTexts:
    A = " ".join(ARTICLES[0])
    B = " ".join(ARTICLES[1])

    @pytest.mark.parametrize(("name", "edit", "share"), EDITS, ids=[name for name, _, _ in EDITS])
    def test_edits_change_what_they_say(self, name: str, edit: object, share: float) -> None:
        changed = edit(self.A, self.B, share, random.Random(1))
        assert changed != self.A
        before, after = self.A.split(), changed.split()
        if "moved" in name:
            assert sorted(before) == sorted(after)
        elif "boilerplate" in name:
            assert after[: len(before)] == before
            assert len(changed) == len(self.A) + 1 + round(share * len(self.A))
        elif "words" in name:
            differing = sum(a != b for a, b in zip(before, after, strict=True))
            assert 0 < differing <= round(share * len(before)) + 1

    def test_similarity_of_edited_texts_is_the_true_one(self) -> None:
        pairs = [Pair("en", "", HALVES[0], text, "", 0, 0) for text in (self.A, self.B)]
        made = list(edited(pairs))
        assert len(made) == 2 * len(EDITS)
        moved = next(pair for pair in made if "moved" in pair.length)
        assert 0.9 < moved.similarity < 1
        assert all(0 < pair.similarity < 1 for pair in made)

    @pytest.mark.parametrize("name", matchers())
    def test_matchers_know_a_copy_from_another_text(self, name: str) -> None:
        matcher = matchers()[name]
        pair = Pair("en", "", HALVES[0], self.A, self.A, 1, 1)
        assert accepted(pair, matcher)
        assert not accepted(pair._replace(b=self.B), matcher)


def test_tables() -> None:
    assert table(["a", "b"], [[1, "x"]]) == "| a | b |\n| --- | --- |\n| 1 | x |"
    assert share(1, 2) == "0.500 of 2"
    assert share(0, 0) == "-"


class TestShort:
    def test_few_shingles_are_found_and_estimated_as_well_as_many(self) -> None:
        few, many = (measure_class(least, 2 * least, 1, 200) for least in (16, 512))
        assert min(few.found, few.near, many.found, many.near) > 0.9
        assert max(few.error, many.error) < 0.03
        assert max(few.distance_error, many.distance_error) < 0.07

    def test_what_is_as_small_as_can_be_is_equal(self) -> None:
        assert measure_class(8, 10, 1, 50) == (1, 1, 0, 0)
