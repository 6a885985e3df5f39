"""What later visits of a site store, and the status of each item, as a table.

A case is a name, settings after a `%`, visits as `visited_sites` reads them, and below a visit, set
in, what is expected of it: with both values of SIMHASH_KNOWN, or with `pass` or `drop`.

    unchanged a b, changed c price:10>9, moved d from:e

A status comes before the addresses. With `pass` all but copies is stored; with `drop` what is
new or changed. `/stored` or `/left` behind a status says otherwise; the status `?` is not compared.
What follows addresses is expected of each: `name:old>new` of a field that differs (others may not
differ), `from:address`, `back`. `removed 1` is the stat. A `*` marks what a quick run crawls, too.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from visited_sites import Visit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MODES = ("pass", "drop")
STORED = {
    "pass": {"new", "changed", "moved", "unchanged", "?"},
    "drop": {"new", "changed", "?"},
}

TABLE = """
# A price that goes down and up
a T price:10
a T price:9
    changed a price:10>9
a T price:10
    changed a price:9>10
a T price:10
    unchanged a

# A price of an entry that goes down and up
l [e1 price:10; e2 price:5]
l [e1 price:9; e2 price:5]
    changed e1 price:10>9, unchanged e2
l [e1 price:10; e2 price:5]
    changed e1 price:9>10, unchanged e2

# Tracking parameters tell nothing of a page
a?utm_source=1 T price:10
a?utm_source=2 T price:10
    unchanged a?utm_source=2
a?utm_source=3 T price:9
    changed a?utm_source=3 price:10>9
a T price:9
    unchanged a

# Nor of the pages that entries of a list lead to
l [e1?utm_source=1 T price:10; e2 U price:5]
l [e1?utm_source=2 T price:9; e2 U price:5]
    changed e1?utm_source=2 price:10>9, unchanged e2

# A field that disappears
a T price:10 award:first
a T price:10
    changed a award:first>
a T price:10
    unchanged a

# A copy takes the place of one that a later pipeline drops
a T, b T
a T refused, b T
    pass: unchanged/left a, unchanged b
    drop: unchanged a b

# What a later pipeline dropped comes back
a T refused, b U
    new/left a, new b
a T, b U
    new a, unchanged b

# An entry of two lists that changes
l [e1 T price:9; e2 U], m [e1 T price:9; e3 V]
    new e1 e2 e3, copy e1
l [e1 T' price:9; e2 U], m [e1 T' price:9; e3 V]
    changed e1, copy e1, unchanged e2 e3
l [e1 T' price:8; e2 U], m [e1 T' price:8; e3 V]
    changed e1 price:9>8, copy e1, unchanged e2 e3

# An entry alone on its page
l [e1 T; e2 U; e3 V]
l [e1 T]
    unchanged e1
l [e1 T; e2 U]
    unchanged e1, unchanged e2 back

# Details as JSON
a json price:10, b json price:20
a json price:10, b json price:20
    unchanged a b
a json price:9, b json price:20
    changed a price:10>9, unchanged b
a json price:10, b json price:20
    changed a price:9>10, unchanged b

# Pages without a text
a - price:10, b - price:20
a - price:10, b - price:20
    unchanged a b
a - price:9, b - price:20
    changed a price:10>9, unchanged b

# Equal pages without a text are compared with their own past
a json title:One price:10, b json title:One price:10
    new a b
a json title:One price:10, b json title:One price:10
    unchanged a b
c json title:One price:10, b json title:One price:10
    new c, unchanged b

# Pages below new session ids
a?s=1a T price:10, b?s=1a U
a?s=2b T price:10, b?s=2b U
    moved a?s=2b from:a?s=1a, moved b?s=2b from:b?s=1a
b?s=3c U, a?s=3c T price:10
    moved a?s=3c from:a?s=2b, moved b?s=3c from:b?s=2b

# Another price below a new session id
a?s=1a T price:10
a?s=2b T price:9
    new a?s=2b

# A page that moved on its site
old/a T, b U
new/a T, b U
    moved new/a from:old/a, unchanged b
new/a T, b U
    unchanged new/a b

# A page that moved to another host of its site
a T, b U
sub/a T, b U
    moved sub/a from:a, unchanged b

# A site that moved to another one
a T, b U
two/a T, two/b U
    pass: new two/a two/b
    drop: copy two/a two/b

# One word is corrected
a T, b U
a T', b U
    changed a, unchanged b
a T', b U
    unchanged a b

# Sixty words in a row are corrected
a T
a T~
    changed a
a T
    changed a

# A text is rewritten under the same headline
a T title:One
a U title:One
    changed a
a U title:One
    unchanged a

# A headline
a T title:Flood
a T title:Fire
    changed a title:Flood>Fire

# The same date and price written otherwise
a T date:2024-05-01 price:10
a T date:1_May_2024 price:10.00_EUR
    unchanged a

# The same words in capitals
a T
a T^
    unchanged a

# The time when a page was fetched
a T stamped, b U stamped
a T stamped, b U stamped
    unchanged a b

# A counter
a T views:101 price:10
a T views:119 price:10
    unchanged a
a T views:240 price:9
    changed a price:10>9

# A page whose text is revised or replaced beside the values of its item
a T title:One price:10 unread, b U price:20 unread, c V title:Two price:30 unread
a T~ title:One price:10 unread, d T~ title:One price:10 unread, c W title:Two price:30 unread
    unchanged a c, copy d
e T~ title:One price:10 unread, f W title:Two price:30 unread, g V title:Two price:30 unread
    moved e from:a, moved f from:c, new g
e T~ title:One price:9 unread, f W title:Two price:30 unread, g V title:Two price:30 unread
    changed e price:10>9, unchanged f g

# What is left in stock
a T stock:7
a T stock:6
    changed a stock:7>6

# A field that is ignored
% SIMHASH_IGNORE_FIELDS ["stock"]
a T stock:7 price:10
a T stock:6 price:10
    unchanged a
a T stock:5 price:9
    changed a price:10>9

# A text that is revised below the tolerance
% SIMHASH_CHANGE_SIMILARITY 0.95
a T
a T'
    unchanged a
a T'2
    drop: unchanged a
a T'5
    drop: changed a

# A price is no matter of tolerance
% SIMHASH_CHANGE_SIMILARITY 0.7
a T price:10
a T' price:9
    changed a price:10>9

# A print view beside its page
a T
a T, print/a T print
    unchanged a, copy print/a
a T, print/a T print
    pass: unchanged a, unchanged/left print/a
    drop: unchanged a print/a

# Numbered pages move up by one
a T, b U, c V
a U, b V, c 404
    changed a b
    removed 0

# A copy whose original is gone
a T, b T, c U
    new a c, copy b
b T, c U
    unchanged b c
b T, c U
    unchanged b c

# A copy that gets another price
a T price:10, b T price:10
a T price:10, b T price:9
    unchanged a, changed b price:10>9
a T price:10, b T price:9
    unchanged a b

# A copy on another site
a T, two/a T title:Retold
    new a, copy two/a
a T, two/a T title:Retold
    pass: unchanged a, unchanged/left two/a
    drop: unchanged a two/a
two/a T title:Retold
    unchanged two/a

# A text of three things of a site makes no copies on another one
a T price:10, b T price:9, c T price:8
a T price:10, b T price:9, c T price:8, two/a T price:10 title:Other
    unchanged a b c, new two/a
a T price:10, b T price:9, c T price:8, two/a T price:10 title:Other
    unchanged a b c two/a

# Offers of one thing on two sites
a T price:10, two/a T price:12
    new a two/a
a T price:10, two/a T price:12
    unchanged a two/a
a T price:10, two/a T price:11
    unchanged a, changed two/a price:12>11

# Entries in another order
l [e1 price:1; e2 price:2; e3 price:3]
l [e3 price:3; e1 price:1; e2 price:2]
    unchanged e1 e2 e3

# Pictures of entries on another host
l [e1 price:1 image:http://x.com/1.jpg; e2 price:2 image:http://x.com/2.jpg]
l [e1 price:1 image:http://y.com/1.jpg; e2 price:3 image:http://y.com/2.jpg]
    unchanged e1, changed e2 price:2>3

# An entry on two pages
l [e1 price:1; e2 price:2], m [e1 price:1; e3 price:3]
    new e1 e2 e3, copy e1
l [e1 price:1; e2 price:2], m [e1 price:1; e3 price:3]
    pass: unchanged e1 e2 e3, ?/left e1
    drop: unchanged e2 e3, ?/left e1 e1

# An entry at two prices in one visit
l [e1 price:9; e2 price:2], m [e1 price:8; e3 price:3]
    new e2 e3, ? e1 e1
l [e1 price:9; e2 price:2], m [e1 price:8; e3 price:3]
    unchanged e1 e1 e2 e3
l [e1 price:8; e2 price:2], m [e1 price:9; e3 price:3]
    unchanged e1 e1 e2 e3
l [e1 price:9; e2 price:2], m [e1 price:7; e3 price:3]
    unchanged e1 e2 e3, changed e1 price:€>7

# Entries without addresses
l [*p price:1; *q price:2]
    new *p *q
l [*q price:2; *p price:1; *r price:3]
    unchanged *p *q, new *r

# The stock of an entry without an address *
l [*p T size:S stock:7; *q T size:M stock:7]
    new *p *q
l [*p T size:S stock:7; *q T size:M stock:6]
    unchanged *p, changed *q stock:7>6
l [*p T size:S stock:6; *q T size:M stock:6]
    changed *p stock:7>6, unchanged *q
l [*p T size:S stock:6; *q T size:M stock:7]
    unchanged *p, changed *q stock:6>7
l [*p T size:S stock:6; *q T size:M stock:7]
    unchanged *p *q

# Entries without addresses on other pages of a list, and with a counter that moves
l1 [*p T views:1; *q U views:1], l2 [*r V views:1]
    new *p *q *r
l1 [*o W views:1; *p T views:2], l2 [*q U views:1; *r V views:3]
    new *o, unchanged *p *q *r

# A page that gets a second entry
l [*p T views:1]
    new *p
l [*p T views:2; *q U views:1]
    unchanged *p, new *q

# An answer in JSON with a counter
a json price:10 views:1
    new a
a json price:10 views:2
    unchanged a

# Entries without an address that differ in their stock
l [*p T stock:7; *q T stock:0]
    new *p, copy *q
l [*p T stock:7; *q T stock:0]
    pass: unchanged *p, unchanged/left *q
    drop: unchanged *p *q

# Equal entries at places of one page
l [l#1 price:1; l#2 price:1]
    new l#1 l#2
l [l#1 price:1; l#2 price:2]
    unchanged l#1, changed l#2 price:1>2

# A page that gets a text
a - price:10
a T price:10
    changed a
a T price:10
    unchanged a

# A page at a new address by its key
% SIMHASH_KEY ["sku"]
a T sku:s1 price:10, b U sku:s2 price:20
c T sku:s1 price:10, d U sku:s2 price:21
    pass: ? c, changed d price:20>21 from:b
    drop: ?/left c, changed d price:20>21 from:b

# A page of another spider
% SIMHASH_NAMESPACE shared
!spider:one a T, b U
!spider:other b U, c V
    drop: unchanged b, new c

# A copy of what another spider stored
% SIMHASH_NAMESPACE shared
!spider:one a T, b U
!spider:other two/a T, two/c V
    copy two/a, new two/c
!spider:one a T, b U
    unchanged a b
!spider:other two/a T, two/c V
    pass: unchanged/left two/a, unchanged two/c
    drop: unchanged two/a two/c

# A revision of a page that another spider met before
% SIMHASH_NAMESPACE shared
!spider:one a T
    new a
!spider:other a T'
    changed a
!spider:one a T'
    pass: unchanged/left a
    drop: unchanged a
!spider:other a T'
    unchanged a

# A story that another spider left out as a copy, and lists beside a similar one
% SIMHASH_NAMESPACE shared
!spider:agency two/a T'
    new two/a
!spider:paper list [a T price:5; b T']
    new a, copy b
!spider:agency two/a T'
    unchanged two/a
!spider:paper list [a T price:5; b T']
    pass: unchanged a, unchanged/left b
    drop: unchanged a b

# * A revision that a crashed crawl found
a T, b U price:10
!crash a T', b U price:9
    changed a, changed b price:10>9
a T', b U price:9
    changed a, changed b price:10>9
a T', b U price:9
    unchanged a b

# A crawl that is stopped and resumed is one visit
!job a T
!job b U stops
!job c U, a T
    pass: copy c, unchanged a
    drop: copy c, unchanged a

# Crawls that are open together are one visit
a T, b U
a T, b U price:9 meanwhile
    unchanged a, changed b price:>9
c T, d V
    copy c, new d

# * What is gone
a T, b U, l [e1 price:1; e2 price:2]
    removed 0
a T, l [e1 price:1]
    unchanged a e1, removed 2
a T, l [e1 price:1]
    unchanged a e1, removed 0

# * What is gone and back
a T, b U, c V price:10
a T
    unchanged a, removed 2
a T, b U, c V price:9
    unchanged a, unchanged b back, changed c price:10>9 back, removed 0
a T, b U, c V price:9
    unchanged a b c, removed 0

# * Error pages
a T, b U, c V, d W
a T, b 404, c 410, d W
    unchanged a d, removed 2
a T, d 500
    unchanged a, removed 0
a T
    unchanged a, removed 1

# A page that is gone at two addresses, which count its views
a T#1, a?utm_source=x T#2, b U
a?utm_source=x T#3, a T#4, b U
    removed 0
a 404, a?utm_source=x 404, b U
    removed 1

# A site that is down
a T, b U
a 503, b 503
    removed 0
a T, b U
    unchanged a b, removed 0

# A callback that fails
a T, b U
a T, b U raises
    unchanged a, removed 0
a T, b U
    unchanged a b, removed 0

# A crawl that is stopped
a T, b U, c V, d W
a T stops, b U, c V, d W
    removed 0
a T
    unchanged a, removed 3

# Crawls of a part with an argument
a T, b U
!arg:x a T
    unchanged a, removed 0
a T, b U
    unchanged a b, removed 0
a T
    unchanged a, removed 1

# What another spider does not fetch
% SIMHASH_NAMESPACE shared
!spider:one a T
!spider:other b U
    new b, removed 0

# Callbacks that are skipped
% SIMHASH_ON_DUPLICATE skip
a T, b U, c V
a T
    removed 0
a T, c 404
    removed 1

# What moved or has a copy left is not gone
a T, b U, c U, d V, e V
    new a b d, copy c e, removed 0
f T, c U, d V
    moved f from:a, unchanged c d, removed 0

# What a later pipeline drops is not gone
a T, b U
a T, b U refused
    unchanged a, ?/left b, removed 0
"""


class Expected(NamedTuple):
    """What is expected of one thing."""

    status: str
    stored: bool
    label: str
    fields: dict[str, tuple[str, str]]
    origin: str
    back: bool


class Case(NamedTuple):
    """Visits of one site.

    Attributes:
        name: what happens to it.
        quick: whether a quick run crawls it alone.
        settings: of each visit.
        visits: in their order.
        expected: by mode, of each visit; None where nothing is.
        removed: the stat of each visit; None where it does not matter.
    """

    name: str
    quick: bool
    settings: dict[str, Any]
    visits: list[Visit]
    expected: Mapping[str, list[list[Expected] | None]]
    removed: list[int | None]

    @property
    def is_plain(self) -> bool:
        """Whether the same crawls can visit other sites."""
        words = {word for visit in self.visits for thing in visit.things for word in thing.words}
        is_special = words & {"stops", "raises", "meanwhile"} or any(map(len, self.how))
        return not (is_special or self.settings or any(n is not None for n in self.removed))

    @property
    def how(self) -> list[Mapping[str, str]]:
        return [visit.how for visit in self.visits]


def expectations(written: str, mode: str) -> Iterator[Expected]:
    for part in written.split(", "):
        status, *words = part.split()
        if status == "removed":
            continue
        status, _, outcome = status.partition("/")
        stored = outcome == "stored" or (not outcome and status in STORED[mode])
        details = dict(word.split(":") for word in words if ":" in word)
        origin = details.pop("from", "")
        fields = {name: tuple(values.split(">")) for name, values in details.items()}
        for label in words:
            if ":" not in label and label != "back":
                yield Expected(status, stored, label, fields, origin, "back" in words)


def read_case(written: str) -> Case:
    name, *lines = written.strip().splitlines()
    case = Case(name.removeprefix("* "), name[0] == "*", {}, [], {mode: [] for mode in MODES}, [])
    for line in lines:
        if line[0] == "%":
            _, setting, value = line.split(maxsplit=2)
            is_name = re.fullmatch(r"\w*[a-z]\w*", value)
            case.settings[setting] = value if is_name else ast.literal_eval(value)
        elif line[0] != " ":
            case.visits.append(Visit.read(case.name, line))
            case.removed.append(None)
            for expected in case.expected.values():
                expected.append(None)
        else:
            first, _, rest = line.strip().partition(": ")
            modes, rest = ((first,), rest) if first in MODES else (MODES, line.strip())
            for mode in modes:
                case.expected[mode][-1] = list(expectations(rest, mode)) or None
            if removed := re.search(r"removed (\d+)", rest):
                case.removed[-1] = int(removed[1])
    return case


CASES = [read_case(written) for written in re.split(r"^# ", TABLE, flags=re.MULTILINE)[1:]]
