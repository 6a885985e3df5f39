"""Fields of counts: their values are state in every language, a text in them never is."""

from __future__ import annotations

from typing import Any

import pytest

from scrapy_simhash.item.evidence import Evidence
from scrapy_simhash.item.folding import fold
from scrapy_simhash.item.languages import SPACED, UNSPACED, phrases
from scrapy_simhash.item.names import name_of

LANGUAGES = (*SPACED, *UNSPACED)
COUNTED = [
    (language, word)
    for language in LANGUAGES
    for kind in ("counted", "labels", "alone")
    for word in sorted(phrases(kind, language))
]
CHANGES = [
    *("updated", "update", "lastModified", "last_post", "dateModified", "更新时间", "обновлено"),
]
PLACES = ["position", "rank", "ranking", "row_number", "排名", "page", "page_no", "offset"]
RATINGS = ["rating", "stars", "average_rating", "ratingValue", "评分", "rating.rate"]
STOCKS = ["stock", "inventory", "lagerbestand", "库存"]
COUNTS = [
    *("comment", "commentCount", "comments_total", "review", "review_count", "reply", "posts"),
    *("rating.count", "comments.count", "comments.totalCount", "data.reviews.total"),
    *("votes", "upvoteCount", "Bewertung", "评论", "评论数", "浏览次数", "コメント数"),
    *("댓글", "sold", "stars", "star_count", "github_stars", "views_today", "forks", "num_points"),
    *(word.replace(" ", "_") for _, word in COUNTED),
    *("followers_count", "downloadCount", "sold_count", "applicants_count", "retweet_count"),
    *("plays", "playcount", "stargazers_count", "members", "num_like", "Kommentaranzahl"),
    *("Besucherzahl", "nombre_de_vues", "количество_просмотров", "yorum_sayısı", "liczba_ocen"),
    *(
        f"{word}_{count}".replace(" ", "_")
        for language in LANGUAGES
        for word in phrases("counted", language) | phrases("named", language)
        for count in phrases("count", language)
    ),
]
#: What an item has, or is: a number of them is no state.
NUMBERS = [
    *("word_count", "page_count", "pages", "bedroom_count", "num_rooms", "nb_pieces", "count"),
    *("chapter_number", "post_number", "comment_id", "member_id", "page_id", "numberOfPages"),
    *("seats", "anzahl_zimmer", "liczba_pokoi", "количество_комнат", "页数", "字数", "房间数"),
    *("rooms.count", "last_update.version"),
]
#: What is no count, though there is a number in it, or a word for none.
TEXTS = [
    *("Left after 20 minutes", "Saw it 2 times already", "Worth every one of the 9 euros"),
    *("3 of us fell asleep", "12 out of 10 for the dog", "The 2nd half drags", "2D Artist"),
    *("1st Line Help", "Engineer 2", "No way this is 4K", "No sound at all", "Leave it to Ann"),
    *("Be the first to know: 3 tips", "Add 2 eggs", "Blade Runner 2049", "Chapter 12", "R2-D2"),
    *("24/7 help", "555-0199", "C++ 11", "v2.1", "1.6 TDI 105 PS", "500 Mbps", "Ann (12) liked it"),
    *("12 monkeys", "5 stars, but the soup was cold", "100 comments and no answer from them"),
    *("I give it 4.5/5", "3 new levels", "Version 2.1 of 3 March 2026 is out", "2 bed flat"),
    *("7 Nächte im Regen", "Keine Ahnung, 3 Sterne", "Trois fois par jour, 2 suffisent"),
    *("2 veces lo mismo", "Não comprem 2", "Ci sono stata 3 volte", "3 keer te laat"),
    *("Brak 2 śrub",),
    *("Přišlo 5 kusů vadných", "Смотрел 2 раза подряд", "5 минут, и сломался", "2 kez kırıldı ama"),
    *("Mua 2 lần rồi, tốt", "Beli 3 dapat 2 rusak", "اشتريت 2 منها", "קניתי 3 כאלה", "मैंने 2 खरीदे"),
    *("ซื้อ 2 ตัวแล้วดีมาก", "第2次来了,不错", "3个房间都很小", "没有想象中好", "2回目は微妙でした"),
    *("3번 봤어요 재미있어요", "아직 2개월 안 됐어요"),
]


def is_state(name: str, value: Any) -> bool:
    folded = fold(name_of(name), value)
    return folded is not None and folded.kind in (Evidence.STATE, Evidence.STOCK)


@pytest.mark.parametrize("name", sorted({*COUNTS, *CHANGES, *PLACES, *RATINGS, *STOCKS}))
def test_a_text_is_no_count(name: str) -> None:
    assert [text for text in TEXTS if is_state(name, text)] == []


@pytest.mark.parametrize("name", sorted({*COUNTS, *CHANGES, *STOCKS}))
def test_a_number_is_a_count(name: str) -> None:
    values = (
        *(17, "0", "1,204", "1.204", "1 204", "(17)", "[3]", "1.2k", "3.4 M", "40+", "3 万"),
        "~12",
    )
    assert [value for value in values if not is_state(name, value)] == []


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_of_what_an_item_has_is_no_count(name: str) -> None:
    assert not is_state(name, 17)


@pytest.mark.parametrize(("language", "word"), COUNTED)
def test_a_count_is_known_by_what_it_counts(language: str, word: str) -> None:
    values = [
        *(f"12 {word}", f"{word} 12", f"{word}: 1.204", f"{word} (17)", f"(1.2k {word})"),
        *(f"{number} {word}" for number in ("1,204", "3 万", "40+", "2.5 M", "1 204")),
        *(f"{none} {word}" for none in phrases("none", language)),
        *(f"12 {scale} {word}" for scale in phrases("scale", language)),
        *(f"{about} 12 {word}" for about in phrases("about", language)),
    ]
    assert [value for value in values if not is_state(word, value)] == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("comments", "No comments yet"),
        ("comments", "Be the first to comment"),
        ("comments", "Leave a reply"),
        ("comments", "13 responses to “A long title of a story”"),
        ("comments", "One thought on “Goats”"),
        ("comments", ["3", "4 comments"]),
        ("comments", "12 comments, 3 hours ago"),
        ("time_left", "2d 4h"),
        ("Time left", "4 days, 3 hours and 5 minutes"),
        ("countdown", "02:22:05"),
        ("days_remaining", "4"),
        ("剩余时间", "3天4小时"),
        ("reviews", "4.5 out of 5 stars (1,204 reviews)"),
        ("reviews", "All 12 customer reviews"),
        ("Applicants", "Over 100 people clicked apply"),
        ("views", "More than 1,000 views so far"),
        ("views", "Viewed 1,234 times"),
        ("likes", "👍 12"),
        ("J'aime", "12 j'aime"),
        ("टिप्पणी", "12 टिप्पणियाँ"),
        ("ความคิดเห็น", "ยังไม่มีความคิดเห็น"),
        ("Aufrufe", "ca. 1,2 Mio. Aufrufe"),
        ("Kommentare", "Noch keine Kommentare"),
        ("commentaires", "Aucun commentaire"),
        ("comentarios", "Sin comentarios"),
        ("комментарии", "12 комментариев"),
        ("评论", "暂无评论"),
        ("评论", "共 23 条评论"),
        ("评论", "评论 23"),
        ("コメント", "コメントはありません"),
        ("댓글", "댓글 3개"),
        ("rank", "#3"),
        ("position", "3 of 20"),
        ("position", "No. 3"),
        ("rating", 4.6),
        ("rating", "10"),
        ("rating", "87%"),
        ("评分", "4.1分 (7条评价)"),
        ("rating", "4.5 out of 5"),
        ("rating", "4,5 von 5 Sternen"),
        ("rating", "Rated 4.5/5 (123)"),
        ("stock", "Only 3 left in stock"),
        ("stock", "Low stock: 5 left"),
        ("stock", "Sales end soon"),
        ("stock", "5 left"),
        ("updated", "Last updated on 5 March 2026 at 10:11"),
        ("updated", "2026-03-05T10:11:12Z"),
        ("updated", 1_577_872_800),
        ("updated", "[Submitted on 5 Mar 2020 (this version)]"),
        ("online", "12 users online"),
        ("instock", True),
        ("interactionStatistic", [{"type": "Like", "count": 3}]),
    ],
)
def test_a_value_is_written_as_sites_write_it(name: str, value: Any) -> None:
    assert is_state(name, value)
