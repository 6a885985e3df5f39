"""Numbers in a text that tell of its state when it was fetched."""

from __future__ import annotations

import re

import pytest

from scrapy_simhash.index.comparing import changes_of
from scrapy_simhash.item.state import without_state


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Posts: 3,455 Joined: May 2012", "2012"),  # phpBB
        ("Messages\n1,234\nReaction score\n56\nPoints\n113", "113"),  # XenForo
        ("Join Date Mar 2017 Posts 1434 Thanks 35", "2017"),  # vBulletin
        ("deep water 7 Likes kayaker42 August 20, 2019", "20 2019"),  # Discourse
        ("Users browsing this forum: ann_b and 73 guests", ""),
        ("Hits: 1204", ""),
        ("You are visitor number 48,213", ""),
        ("142 views, 12 March 2021", "12 2021"),
        ("4 replies\n12 likes\n1.2k followers", ""),
        ("Comments (12)", ""),
        ("24 in stock, 31 reviews", ""),
        ("(12 customer reviews) Rated 3 out of 5, 40+ watchers", "5"),  # WooCommerce
        ("3 out of 5 farmers", "3 5"),
        ("vor 3 Tagen, hace 5 minutos, il y a 2 heures, 11 days ago, 2 years ago", "2"),
        ("阅读数：1234 评论(5) 3人点赞 1.2万次浏览", ""),
        ("2024年3月5日浏览12次", "2024 3 5"),
        ("3 hours ago, 20 minutes ago, 2小时前 3天前", ""),
        ("This page last modified on  2022-01-08 05:02:57 UTC, 4 goats", "4"),
        ("This page was last edited on 5 May 2024, at 12:00. 17 came", "17"),
        ("Page last updated: June 1, 2024\n42", "42"),
        ("本页面最后编辑于2024年5月3日 12:00。 3 头", "3"),
        ("312 views 2 replies", ""),
        ("online for 3 days", ""),
        ("Online seit 3 Tagen", ""),
        ("En ligne depuis 3 jours", ""),
        ("37 people have viewed this job. Over 12 applicants", ""),
        ("查看: 37|回复: 12 已有 12 人申请 31 人看过", ""),  # Discuz
        # No count, or maybe something else.
        ("The list was last updated on 2024-05-03", "2024-05-03"),
        ("He likes 5 of them", "5"),
        ("Floor 3 Views: 245", "3 245"),
        ("size 12 reviews 3", "12 3"),
        ("€ 12 Reviews", "12"),
        ("€ 12,50 reviews, 12.50 comments", "12,50 12.50"),
        ("R-4912 reviews", "4912"),
        ("views: 12 March", "12"),
        ("sold 500 shares, 312 votes for, 4 guests, 2 posts vacant", "2 312 4 500"),
        ("30 people looked at this, 7 persons at home", "7 30"),
        ("Score: 3, size 12, page 4", "12 3 4"),
        ("on 10/12 comments from 10:30 views", "10 10:30 12"),
        ("founded 30 years ago", "30"),
        ("$ 199 查看详情, 查看 3 号文件", "199 3"),
    ],
)
def test_counts_and_relative_times_are_left_out(text: str, left: str) -> None:
    numbers = re.findall(r"(?<![a-z0-9])\d+(?:[.,:-]\d+)*", without_state(text))
    assert sorted(numbers) == sorted(left.split())


#: What stands in a page at two visits, by language.
STATES = {
    "en": [
        ("1 comment", "2 comments"),
        ("59 minutes ago", "an hour ago"),
        ("3d ago", "4d ago"),
        ("1 hour 20 minutes ago", "3 hours ago"),
        ("4 days 3 hours left", "11 hours 5 minutes left"),
        ("Time left: 4 days and 3 hours", "Time left: 11 hours 5 minutes"),
        ("Ends in 3 days, 4 hours", "Ends in 5 minutes"),
        ("Updated 3 hours ago", "Updated 1 day ago"),
        ("Last updated: 5 March 2026", "Last updated: 9 April 2026"),
        ("Last updated on Thursday, March 5, 2026", "Last updated on Monday, April 6, 2026"),
        ("Updated: 2026-03-05 10:11", "Updated: 2026-04-09 12:13"),
        ("Rating: 4.5 out of 5 stars", "Rating: 4.6 out of 5 stars"),
        ("4.5/5 (123 reviews)", "4.6/5 (125 reviews)"),
        ("12 users browsing this forum", "14 users browsing this forum"),
        ("17 people are looking at this right now", "5 people are looking at this right now"),
        ("Viewed 1,234 times", "Viewed 1,301 times"),
        ("12 people found this helpful", "14 people found this helpful"),
        ("Helpful (35)", "Helpful (36)"),
        ("This page has been accessed 1,847 times.", "This page has been accessed 1,851 times."),
        ("2K+ bought in past month", "3K+ bought in past month"),
        ("301 people found it helpful", "322 people found it helpful"),
        ("4.5 (31 votes)", "4.6 (37 votes)"),
    ],
    "de": [
        ("3 Personen sehen sich dieses Produkt an", "4 Personen sehen sich dieses Produkt an"),
        ("120 Mal gelesen", "133 Mal gelesen"),
        ("vor 23 Stunden", "vor einem Tag"),
        (
            "Zuletzt aktualisiert am 05.03.2026 um 10:11 Uhr",
            "Zuletzt aktualisiert am 6. April 2026",
        ),
        ("4,5 von 5 Sternen", "4,6 von 5 Sternen"),
    ],
    "fr": [
        ("8 personnes regardent cet hôtel", "18 personnes regardent cet hôtel"),
        ("4,4/5 (100 avis)", "4,5/5 (107 avis)"),
        ("lu 120 fois", "lu 133 fois"),
        ("il y a 2 jours", "il y a une semaine"),
        ("Mis à jour le 5 mars 2026", "Mis à jour le 9 avril 2026"),
    ],
    "es": [
        ("5 personas están viendo este producto", "9 personas están viendo este producto"),
        ("Visto 1.234 veces", "Visto 1.301 veces"),
        ("hace 2 horas", "hace un día"),
        ("★ 3,9 (247 votos) de", "★ 4,1 (250 votos) de"),
        ("Última actualización: 5 de marzo de 2026", "Última actualización: 9 de abril de 2026"),
    ],
    "pt": [
        ("6 pessoas estão vendo este produto", "9 pessoas estão vendo este produto"),
        ("2 horas atrás", "3 dias atrás"),
        ("12 curtidas", "13 curtidas"),
    ],
    "it": [
        ("5 persone stanno guardando questo", "6 persone stanno guardando questo"),
        ("2 ore fa", "3 giorni fa"),
        ("letto 120 volte", "letto 133 volte"),
    ],
    "nl": [("2 uur geleden", "3 dagen geleden"), ("120 keer bekeken", "133 keer bekeken")],
    "sv": [("för 2 timmar sedan", "för 3 dagar sedan"), ("120 visningar", "133 visningar")],
    "pl": [
        ("12 osób ogląda teraz ten produkt", "7 osób ogląda teraz ten produkt"),
        ("2 godziny temu", "5 dni temu"),
        ("1 komentarz", "5 komentarzy"),
        ("Pobrano 12 razy", "Pobrano 15 razy"),
    ],
    "cs": [("před 2 hodinami", "před 3 dny"), ("Zobrazeno 120x", "Zobrazeno 133x")],
    "ru": [
        ("просмотров: 120", "просмотров: 133"),
        ("2 часа назад", "5 дней назад"),
        ("Обновлено: 5 марта 2026", "Обновлено: 9 апреля 2026"),
        ("1 комментарий", "5 комментариев"),
        ("Прочитано 121 раз", "Прочитано 133 раза"),
    ],
    "uk": [("3 дні тому", "5 годин тому"), ("Переглядів: 120", "Переглядів: 133")],
    "tr": [("2 saat önce", "3 gün önce"), ("120 kez okundu", "133 kez okundu")],
    "vi": [("2 giờ trước", "3 ngày trước"), ("Lượt xem: 120", "Lượt xem: 133")],
    "id": [("2 jam yang lalu", "3 hari yang lalu"), ("Dibaca 120 kali", "Dibaca 133 kali")],
    "ar": [("منذ 3 ساعات", "منذ 5 أيام"), ("التعليقات (3)", "التعليقات (5)")],
    "fa": [("3 ساعت پیش", "5 روز پیش"), ("۳ ساعت پیش", "۵ روز پیش")],
    "he": [("לפני 3 שעות", "לפני 5 ימים")],
    "hi": [("3 घंटे पहले", "5 दिन पहले"), ("120 बार देखा गया", "133 बार देखा गया")],
    "th": [("3 ชั่วโมงที่แล้ว", "5 วันที่แล้ว"), ("เข้าชม 120 ครั้ง", "เข้าชม 133 ครั้ง")],
    "zh": [
        ("7条评价", "8条评价"),
        ("最后更新：2026年3月5日", "最后更新：2026年3月9日"),
        ("更新于 2026-03-05 10:11", "更新于 2026-03-09 12:13"),
        ("3 小時前", "5天前"),
        ("3天后结束", "5小时后结束"),
        ("120 阅读 3 条评论", "133 阅读 5 条评论"),
        ("。 阅读 12 正文", "。 阅读 13 正文"),
        ("瀏覽次數：120", "瀏覽次數：133"),
    ],
    "ja": [
        ("閲覧数: 120", "閲覧数: 133"),
        ("現在12人が見ています", "現在8人が見ています"),
        ("12人正在浏览此商品", "8人正在浏览此商品"),
        ("いいね! 12件", "いいね! 13件"),
        ("コメント(3)", "コメント(5)"),
        ("12件のコメント", "15件のコメント"),
        ("3日前", "2週間前"),
        ("9時間前に更新", "2時間前に更新"),
        ("。 9時間前 コメント 3件 本文", "。 2時間前 コメント 5件 本文"),
        ("最終更新日時：2026/03/05 10:11", "最終更新日時：2026/03/09 10:11"),
    ],
    "ko": [
        ("조회수 1,234", "조회수 1.2만"),
        ("댓글 3개", "댓글 5개"),
        ("9시간 전 업데이트", "2시간 전 업데이트"),
        ("추천 5 공감 3", "추천 7 공감 4"),
        ("3시간 전", "5일 전"),
        ("최종 수정: 2026.03.05. 오전 10:11", "최종 수정: 2026.03.09. 오후 10:11"),
    ],
}
#: Edits of numbers that look like state.
EDITS = [
    ("the law was updated on 3 March 2026", "the law was updated on 4 March 2026"),
    ("Updated on 3 March 2026, the law says", "Updated on 4 March 2026, the law says"),
    ("Published: 5 March 2026", "Published: 9 March 2026"),
    ("he read 120 pages", "he read 133 pages"),
    ("Read by 117 people", "Read by 204 people"),
    ("the iPhone 12 reviews were", "the iPhone 13 reviews were"),
    ("Chapter 3 comments on this", "Chapter 4 comments on this"),
    ("sold 120 shares", "sold 133 shares"),
    ("won by 312 votes", "won by 313 votes"),
    ("Number of posts: 3", "Number of posts: 4"),
    ("Camera da letto: 2", "Camera da letto: 3"),
    ("Letto: 2", "Letto: 3"),
    ("Posts:   3 of 4", "Posts:   4 of 4"),
    ("Take it 3 times a day", "Take it 4 times a day"),
    ("drive 3/5 of it", "drive 4/5 of it"),
    ("3.5 out of 10 farmers", "4.5 out of 10 farmers"),
    ("Chapter 3 (12 comments)", "Chapter 4 (12 comments)"),
    ("Flat 2.5 (4 people)", "Flat 3.5 (4 people)"),
    ("founded 30 years ago", "founded 31 years ago"),
    ("cook 3 hours 20 minutes", "cook 3 hours 30 minutes"),
    ("3 days 4 nights", "3 days 5 nights"),
    ("vor 3 Jahren", "vor 4 Jahren"),
    ("Am 5. März 2026 aktualisiert die Bank", "Am 6. März 2026 aktualisiert die Bank"),
    ("il y a 3 chats", "il y a 4 chats"),
    ("lu 3 livres", "lu 4 livres"),
    ("3 раза в день", "4 раза в день"),
    ("请于3日前提交", "请于5日前提交"),
    ("点击 3 次按钮", "点击 5 次按钮"),
    ("分享3个技巧", "分享5个技巧"),
    ("本法于2026年3月5日修订", "本法于2026年3月9日修订"),
    ("開演3時間前に", "開演5時間前に"),
    ("。その3時間前に更新が", "。その5時間前に更新が"),
    ("추천 3 곳을 소개", "추천 5 곳을 소개"),
    ("Stock 34 is a code", "Stock 35 is a code"),
    ("Download 500 MB of it", "Download 900 MB of it"),
    ("Downloads: 500 Mbps", "Downloads: 900 Mbps"),
    ("レビュー3選", "レビュー5選"),
    ("출발 3일 전 취소", "출발 5일 전 취소"),
    ("추천 5곳", "추천 6곳"),
]


def changed(texts: tuple[str, str]) -> bool:
    """Whether two visits differ, if nothing else stands in the text, and within a line."""
    old, new = (f"A hotel\n{words}\nby the sea. {words}" for words in texts)
    return bool(changes_of(new, old))


@pytest.mark.parametrize(("language", "texts"), [(k, one) for k, v in STATES.items() for one in v])
def test_state_is_known_in_many_languages(language: str, texts: tuple[str, str]) -> None:
    assert not changed(texts)


@pytest.mark.parametrize("texts", EDITS)
def test_numbers_that_look_like_state_are_none(texts: tuple[str, str]) -> None:
    assert changed(texts)
