"""Writes commands.md: what each command of `scrapy simhash` takes, from its own parser."""

from __future__ import annotations

from argparse import Action, ArgumentParser
from pathlib import Path

from scrapy_simhash.cli.main import COMMANDS, function_of

PAGE = Path(__file__).with_suffix(".md")
HEAD = """\
# Commands

<!-- Written by docs/commands.py from the parsers of the commands; a test compares the two. -->

`scrapy simhash COMMAND` works in a project, with its settings, and anywhere else with `--database`.
Each command also takes `--help`, and `-s NAME=VALUE` for a setting. An expected error is one line
on standard error, with exit code 2. Times in JSON are in UTC. If no namespace is named, commands
that delete nothing use that of the run that they are given, or of the newest run.

Options that several commands have:
"""

RECORD = """\
## A record

A decision on an item has these names in the JSON of `drops`, `changes`, `show` and
`restore --with-original`, and those that apply in `dedupe --groups`, `SIMHASH_CHANGE_FIELD` and the
signals. Unknown values are null.

- {}

`show` and `changes --texts` also have `text_of_original` and `difference`: the steps from that text
to that of the item, each with characters to copy, characters to remove, and a text to add.
"""

#: What the names of a record mean.
NAMES = {
    "status": "`dropped`, `stored anyway`, `unchanged`, `restored`, or `kept` although the texts "
    "are similar; in `changes`: `new`, `changed`, `moved`, `missing`, `gone`, `back`",
    "url": "of the item",
    "original": "the URL of the stored item that it was compared with; of a moved item, its "
    "former URL",
    "formerly": "in `changes`, of a new item, the URL of a similar one that went at the same crawl",
    "similarity": "of the two texts",
    "estimated": "whether the similarity is an estimate",
    "distance": "of the two fingerprints, in bits",
    "reason": "why it was dropped or kept, in words",
    "differs": "what keeps them apart: a field, `(numbers)` [or the like](settings.md#stats), or "
    "`(restored)`",
    "fields": "the short values that differ, by field: the stored one, then the item's own; of a "
    "text that changed, `(text)` without values",
    "created": "when the decision was made",
    "run": "the run that made it",
    "namespace": "its namespace",
    "group": "the name of the [group](groups.md)",
    "key": "what identifies the item",
    "name": "of an entry without a URL, its title or values",
    "listed_by": "the site that lists the item, if its URL is of another site",
    "id": "of a dropped item, for `restore --id`",
}

#: Options of several commands, which their sections do not repeat.
COMMON = {
    "--database URL": "instead of SIMHASH_DATABASE_URL",
    "--namespace NAME": "instead of SIMHASH_NAMESPACE",
    "--json": "print JSON, an object on each line where something is listed",
    "--since WHEN": "what was met since the start of a run or a time: `12`, `2030-01-31` or "
    "`2030-01-31T12:00`. Without it and `--run`, `drops`, `changes`, `patterns` and `report` show "
    "the last crawl of each spider, the others everything",
    "--run N,M": "what these runs met",
    "--site HOST": "only items of this site, such as `example.com`",
}

#: What a command is for and what its output means, beside the table of its options.
NOTES = {
    "try": """\
    scrapy simhash try news -a section=sports --pages 1000 -o sports.html

It uses no feeds and item pipelines, nor the project's index, log file and `JOBDIR`. It shows the
counts, an item for each reason to keep similar ones, and lines for the settings; the report has a
chart of similarities. Ctrl-C shows them early. The plugin need not be enabled.
""",
    "drops": """\
    scrapy simhash drops --kept
    scrapy simhash drops --run 12 --json > drops.jsonl

It prints a line for each stored item, and below it a line for each of its copies, with the reason
and the first values that differ; with `--kept` all of them. `--json` has everything, as
[records](#a-record) with the ids for `restore --id`.
""",
    "show": """\
    scrapy simhash show https://example.com/print/17
    scrapy simhash show print/17

It shows what is stored, its history, such as a price that went from 12 to 14 and back, what it was
a copy of, and its copies, in all namespaces unless one is named. If several URLs end in the given
part or, if none does, contain it, it lists them.
""",
    "changes": """\
[Crawl again](recrawls.md#follow-a-site) has examples. Crawls that crashed do not count. A new item
that is similar to one that went at the same crawl, such as an ad that is posted again, has the
former URL and the values that differ beside it.
""",
    "stats": """\
It shows all namespaces, and what the last runs of the newest one, or of the named one, checked,
kept and dropped. `--json` has everything, also the scheme of each namespace.
""",
    "compare": """\
    scrapy simhash compare may.html june.html
    curl -L https://example.com/june | scrapy simhash compare may.html -

It says what a crawl would decide on B if it had stored A from the same site: "near-duplicates",
"different", "different items" (the texts are similar, a fact differs) or "not compared". It also
shows the similarity, the distance of the fingerprints, and the facts of both. A file that does not
begin with `<` is a text.
""",
    "restore": """\
    scrapy simhash restore -o back.jsonl                     # everything
    scrapy simhash restore --orphans --since 2030-01-31      # what a crash left without an original
    scrapy simhash restore --id 1-17                         # one, by its id in the report
    scrapy simhash restore --run 12 --pipelines news         # what a crawl dropped, into a database

Add the file to what your crawls have stored: later crawls [do not drop the items
again](recrawls.md#restored-items). Each item is written once; `--id` writes it again. An existing
file is never overwritten.

With `--pipelines`, items pass through the other item pipelines and the feeds of the spider. What a
pipeline drops, or fails with, stays dropped. A feed that would be replaced is refused. Items have
the class that they had, unless its fields have changed; dates and the like are texts.
""",
    "dedupe": """\
[Deduplicate files](feeds.md) has examples, formats and what is compared.
""",
}


def page() -> str:
    """The page, as Markdown."""
    common = "".join(map(_common, COMMON))
    names = "\n- ".join(f"`{name}`: {meaning}" for name, meaning in NAMES.items())
    return "\n".join([HEAD + common, *map(_section, COMMANDS), RECORD.format(names)])


def parser_of(command: str) -> ArgumentParser:
    """A parser that has the arguments of a command, and no others."""
    parser = ArgumentParser(prog=f"scrapy simhash {command}", add_help=False)
    function_of("add", command)(parser)
    return parser


def _common(option: str) -> str:
    users = [
        f"`{command}`"
        for command in COMMANDS
        if option in {_names(action) for action in parser_of(command)._actions}
    ]
    return f"- `{option}` ({', '.join(users)}): {COMMON[option]}\n"


def _section(command: str) -> str:
    own = [one for one in parser_of(command)._actions if _names(one) not in COMMON]
    purpose = COMMANDS[command]
    parts = [f"## {command}\n", f"{purpose[0].upper()}{purpose[1:]}.\n"]
    if command in NOTES:
        parts.append(NOTES[command])
    if own:
        # Arguments with the same help share a row.
        rows: dict[str, list[str]] = {}
        for one in own:
            rows.setdefault(_help(one), []).append("`, `".join(_names(one).split(", ")))
        parts += [f"- `{'`, `'.join(names)}`: {text}" for text, names in rows.items()]
        parts.append("")
    return "\n".join(parts)


def _help(action: Action) -> str:
    said = [(action.help or "") % vars(action)]
    if action.required and action.option_strings:
        said.append("required")
    return "; ".join(filter(None, said))


def _names(action: Action) -> str:
    given = action.metavar or (f"{{{','.join(action.choices)}}}" if action.choices else "")
    return ", ".join([f"{name} {given}".strip() for name in action.option_strings] or [str(given)])


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
