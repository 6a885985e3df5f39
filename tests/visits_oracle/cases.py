"""Cases of second visits, in the words of `crawl.visit_cases`: what each item is, in both modes.

Beside what stands there, `missing N` counts what is missing or gone, and `told` what is listed once
the visit is over: the status, the address and, behind a `<`, the former one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from crawl.visit_cases import Case, read_case

TABLE = """
# A story and its copy are corrected, and the copy comes first
a T, a?utm_source=x T
    new a, copy a?utm_source=x
a?utm_source=x T', a T'
    changed a?utm_source=x, copy a
    missing 0
a T', a?utm_source=x T'
    pass: unchanged a, unchanged/left a?utm_source=x
    drop: unchanged a a?utm_source=x
    missing 0

# A key that is a part of the URL
% SIMHASH_KEY ["sku"]
p/4711 T sku:4711, p/4712 U sku:4712
    new p/4711 p/4712
q/4711 T' sku:4711, p/4712 U sku:4712
    changed q/4711, unchanged p/4712
    missing 0

# A price disappears in one of two shops with the maker's text
% SIMHASH_KEY ["sku"]
a T sku:a1 price:10, a?ref=x T sku:a1 price:10, two/b T sku:b1 price:12
    new a two/b, copy a?ref=x
a T sku:a1, a?ref=x T sku:a1, two/b T sku:b1 price:12
    changed a, copy a?ref=x, unchanged two/b
    missing 0
a?ref=x T sku:a1, a T sku:a1, two/b T sku:b1 price:12
    pass: unchanged a?ref=x two/b, unchanged/left a
    drop: unchanged a a?ref=x two/b

# An agency rewrites its story, and a paper has the old one still
a T, two/a T
    new a, copy two/a
a U, two/a T
    changed a, unchanged two/a
    missing 0
two/a T, a U
    unchanged two/a a
    missing 0
two/a U, a U
    pass: changed two/a, unchanged/left a
    drop: copy two/a, unchanged a
    missing 0

# A story is corrected, and its copy on another site comes first and has the old text still
a T, two/a T+
    new a, copy two/a
two/a T+, a T'
    pass: unchanged two/a, changed/left a
    drop: unchanged two/a, changed a
    missing 0
    told changed a

# A page with a counter moves
a T#1
    new a
a T#2
    unchanged a
b T#3
    moved b
    missing 0
    told moved b<a

# A page that has its content at three URLs moves, with other counters at each
a T#1, b T#2, c T#3
    new a, copy b c
a T#4, b T#5, c T#6
    pass: unchanged a, unchanged/left b c
    drop: unchanged a b c
d T#7, e T#8, f T#9
    moved d, copy e f
    missing 0

# A page is corrected, its view is not, and both move to one URL
a T, a/amp T
    new a, copy a/amp
a T+, a/amp T
    pass: changed a, unchanged/left a/amp
    drop: changed a, unchanged a/amp
b T+'
    changed b
    missing 1

# The page of this week's menu changes, and an older menu goes
a T
    new a
a U, b T
    changed a, moved b
    missing 0
a V
    changed a
    missing 1

# A page is corrected, and met first at a URL of a session
p2 T date:12
    new p2
p2?s=1 T date:26, p2 T date:26
    new p2?s=1, changed/left p2
    told changed p2

# A story moves that another spider's last visit has a similar one of, on another site
% SIMHASH_NAMESPACE shared
!spider:city b T'
    new b
!spider:state two/x T' price:5
    new two/x
!spider:city c T'
    pass: moved c from:b
    drop: copy c
!spider:city c T'
    unchanged c

# An agency rewrites its story, and the paper of another spider has the old one still
% SIMHASH_NAMESPACE shared
!spider:agency a T
    new a
!spider:paper two/a T
    copy two/a
!spider:agency a U
    changed a
    missing 0
!spider:paper two/a T
    unchanged two/a
    missing 0
!spider:paper two/a U
    copy two/a
    missing 0

# A new product on top shifts one out of the last page, and an old one goes
l1 [e1 T price:1; e2 U price:2], l2 [e3 V price:3]
    new e1 e2 e3
l1 [e0 W price:4; e1 T price:1], l2 [e2 U price:2]
    new e0, unchanged e1 e2
    missing 1

# Three contents under one URL in each crawl
a T price:10, a T price:11, a U price:10
    new a, changed a a
a U price:10, a T price:10, a T price:11
    unchanged a a a
    missing 0
a T price:11, a U price:10, a T price:10
    unchanged a a a
    missing 0

# A stopped crawl meets one of three contents
a T price:10, a T price:11, a U price:10
a T price:10 stops
    unchanged a
    missing 0
a T price:11, a U price:10, a T price:10
    unchanged a a a
    missing 0

# A repost of what an API, a page and a print view list
api/1 T, p/1 T, print/1 T
    new api/1, copy p/1 print/1
api/2 T, p/2 T, print/2 T
    moved api/2 from:api/1, copy p/2 print/2
    told moved api/2<api/1
    missing 0

# A page moves and is revised at once
a T, b U
c T', b U
    changed c from:a, unchanged b
    told changed c<a
    missing 0
c T', b U
    unchanged c b
    told

# A page moves and has a passage more
a T, b U
c T+, b U
    changed c from:a, unchanged b
    told changed c<a
    missing 0
c T+, b U
    unchanged c b
    told

# A page with a passage more comes up before its page
a T
c T+, a T
    pass: changed c from:a, unchanged/left a
    drop: changed c from:a, unchanged a
    told new c
    missing 0

# A page with a passage more comes up behind its page
a T
a T, c T+
    unchanged a, new c
    told new c
    missing 0

# A revised copy comes up beside its page
a T
c T', a T
    pass: changed c from:a, unchanged/left a
    drop: changed c from:a, unchanged a
    told

# A page moves and is revised, and its old address shows another one
a T, b U
c T', a V, b U
    changed c from:a, changed a, unchanged b
    told new c, changed a

# One key at a plain URL and with ?ref=
% SIMHASH_KEY ["sku"]
a T sku:s1 price:10
a?ref=x T sku:s1 price:9
    changed a?ref=x price:10>9 from:a
    missing 0
a?ref=x T sku:s1 price:8
    changed a?ref=x price:9>8
    missing 0

# A price changes, and the next crawl finds the site down
a T price:10, b U
a T price:9, b U
    changed a price:10>9, unchanged b
    told changed a
a 503, b 503
    missing 0
    told

# A crashed crawl found a revision, which moves
a T, b U
!crash a T', b U
c T', b U
    changed c from:a, unchanged b
    missing 0

# A page that only a crashed crawl met is not gone
!crash a T, b U
a 404, b U
    new b
    missing 0

# A page moves, and a later pipeline refuses its item
a T, b U
c T refused, b U
    missing 0

# An ad at two URLs, one of them new, changes
a?l=1 T price:9, b U
a?l=2 T price:9, a?l=1 T price:9, b U
    pass: moved a?l=2, unchanged/left a?l=1, unchanged b
    drop: moved a?l=2, unchanged a?l=1 b
    told
a?l=2 T price:8, a?l=1 T price:8, b U
    changed a?l=2, copy a?l=1, unchanged b
    told changed a?l=2
    missing 0

# An ad at two URLs, one of them new, goes
a?l=1 T price:9, b U
a?l=2 T price:9, a?l=1 T price:9, b U
b U
    missing 1

# An ad at two URLs that are met in turn
a?l=2 T price:9, b U
a?l=3 T price:9, b U
    moved a?l=3, unchanged b
    missing 0
a?l=2 T price:9, b U
    unchanged a?l=2 b
    missing 0

# An ad with a counter at two URLs changes
a?l=1 T price:9 views:1, a?l=2 T price:9 views:1
a?l=2 T price:9 views:2, a?l=1 T price:9 views:2
    pass: unchanged a?l=2, unchanged/left a?l=1
    drop: unchanged a?l=2 a?l=1
a?l=1 T price:8 views:3, a?l=2 T price:8 views:3
    changed a?l=1, copy a?l=2
    told changed a?l=1

# A story under two titles on two sites, with a print view, is corrected on both
two/b T title:Isle, a T title:Ferry, a/print T title:Ferry
    new two/b, copy a a/print
two/b T' title:Isle, a T' title:Ferry, a/print T' title:Ferry
    changed two/b, copy a a/print
    missing 0

# A story and its copy on another site are corrected in two ways
two/b T title:Isle, a T title:Ferry
    new two/b, copy a
two/b T+ title:Isle, a T' title:Ferry
    pass: changed two/b, changed/left a
    drop: changed two/b a
    told changed two/b, changed a
    missing 0
two/b T+ title:Isle, a T' title:Ferry
    pass: unchanged two/b, unchanged/left a
    drop: unchanged two/b a

# A copy gets a new heading only, and the story a correction
two/b T title:Isle, a T title:Ferry
    new two/b, copy a
two/b T title:Island, a T' title:Ferry
    pass: changed two/b, changed/left a
    drop: changed two/b a
    told changed two/b, changed a

# A copy shows a notice for a visit, and the story is corrected when it is back
a T, two/b T
    new a, copy two/b
a T, two/b N
    unchanged a, changed two/b
two/b T, a T'
    pass: changed two/b, changed/left a
    drop: changed two/b a
    told changed two/b, changed a

# A correction is met at a new URL first
a T, b U
a?ref=5 T', a T', b U
    changed a?ref=5, copy a, unchanged b
    told changed a?ref=5<a
    missing 0

# What has changed since the last complete crawl is gone once
a T, b U, c V
a T', b U stops, c V
    changed a, unchanged b
a 404, b U, c V
    unchanged b c
    missing 1

# Only a page that the server says is gone is gone after a stopped crawl
a T, b U, c V
b 404, a T stops, c V
    unchanged a
    missing 1
"""


class VisitCase(NamedTuple):
    """A case with what is missing and told after each visit; None where that does not matter."""

    case: Case
    missing: list[int | None]
    told: list[set[str] | None]

    @property
    def key(self) -> str:
        """The field that identifies an item."""
        return self.case.settings.get("SIMHASH_KEY", [""])[0]


def read_visit_case(written: str) -> VisitCase:
    lines = written.strip().splitlines()
    own = re.compile(r" +(missing|told)\b ?(.*)")
    case = read_case("\n".join(line for line in lines if not own.fullmatch(line)))
    missing: list[int | None] = []
    told: list[set[str] | None] = []
    for line in lines[1:]:
        if line[0] not in " %":
            missing.append(None)
            told.append(None)
        elif found := own.fullmatch(line):
            if found[1] == "missing":
                missing[-1] = int(found[2])
            else:
                told[-1] = {*filter(None, found[2].split(", "))}
    return VisitCase(case, missing, told)


VISIT_CASES = [read_visit_case(one) for one in re.split(r"^# ", TABLE, flags=re.MULTILINE)[1:]]
