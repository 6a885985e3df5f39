"""Numbers in a text that tell of its state when it was fetched."""

from __future__ import annotations

import pytest

from scrapy_simhash.features.changes import Changes
from scrapy_simhash.item.numbers import numbers_in
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
        ("142 views, 12 March 2021", "12 2021"),
        ("4 replies\n12 likes\n1.2k followers", ""),
        ("Comments (12)", ""),
        ("24 in stock, 31 reviews", ""),
        ("(12 customer reviews) Rated 3 out of 5, 40+ watchers", "5"),  # WooCommerce
        ("3 out of 5 farmers", "3 5"),
        ("vor 3 Tagen, hace 5 minutos, il y a 2 heures, 11 days ago, 2 years ago", "2"),
        ("阅读数：1234 评论(5) 3人点赞 1.2万次浏览", ""),
        ("2024年3月5日浏览12次", "2024 3 5"),
        # No count, or maybe something else.
        ("He likes 5 of them", "5"),
        ("Floor 3 Views: 245", "3 245"),
        ("size 12 reviews 3", "12 3"),
        ("€ 12 Reviews", "12"),
        ("€ 12,50 reviews, 12.50 comments", "12,50 12.50"),
        ("R-4912 reviews", "4912"),
        ("views: 12 March", "12"),
        ("sold 500 shares, 312 votes for, 4 guests, 2 posts vacant", "2 312 4 500"),
        ("Score: 3, size 12, page 4", "12 3 4"),
        ("on 10/12 comments from 10:30 views", "10 10:30 12"),
        ("founded 30 years ago", "30"),
    ],
)
def test_counts_and_relative_times_are_left_out(text: str, left: str) -> None:
    assert numbers_in(without_state(text)) == sorted(left.split())


def test_a_text_without_counts_is_as_it_was() -> None:
    text = "Flat 12, floor 3, 4 rooms of 78.5 m²: € 1,250 a month from 1 May 2024 (ref. R-491234)."
    changes = Changes.of(without_state(text), text.replace("78.5", "78.5 "))
    assert not changes.all
