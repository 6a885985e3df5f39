"""Writes commands.md: what each command of `scrapy simhash` takes, from its own parser."""

from __future__ import annotations

from argparse import Action, ArgumentParser
from pathlib import Path

from scrapy_simhash.cli.main import COMMANDS, module_of

PAGE = Path(__file__).with_suffix(".md")
HEAD = """\
# Commands

<!-- Written by docs/commands.py from the parsers of the commands; a test compares the two. -->

`scrapy simhash COMMAND` works in a project, with its settings, and anywhere else with `--database`.
Each command also takes `--help`, and `-s NAME=VALUE` for a setting. An expected error is one line
on standard error, with exit code 2. JSON is in UTF-8, and its times are in UTC. If the database has
several namespaces and none is named, commands that delete nothing use that of the newest run, or of
the run that they are given.

Options that several commands have:
"""

RECORD = """\
## A record

A decision on an item has the same names everywhere: in the JSON of `drops`, `changes`, `show` and
`restore --with-original`, and, where they apply, in `dedupe --groups`,
`SIMHASH_CHANGE_FIELD` and the signals. Unknown values are null.

- {}

`show` and `changes --texts` also have `text_of_original` and `difference`: the steps from that text
to the text of the item, each with characters to copy, characters to remove, and a text to add.
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
    "differs": "what keeps them apart: a field, `(numbers)` and [the like](settings.md#stats), or "
    "`(restored)`",
    "fields": "the short values that differ, by field: the stored one, then the item's own; of a "
    "text that changed, `(text)` without values",
    "created": "when the decision was made",
    "run": "the run that made it",
    "namespace": "its namespace",
    "group": "the name of the [group](groups.md)",
    "key": "what identifies the item",
    "listed_by": "the site that lists the item, if its URL is of another site",
    "id": "of a dropped item, for `restore --id`",
}

#: Options of several commands, which their sections do not repeat.
COMMON = {
    "--database URL": "instead of SIMHASH_DATABASE_URL",
    "--namespace NAME": "instead of SIMHASH_NAMESPACE",
    "--json": "print JSON, for programs: an object on each line where something is listed",
    "--since WHEN": "what was met since run N was started, or since a time: `12`, `2030-01-31` or "
    "`2030-01-31T12:00`. Without it and `--run`, `drops`, `changes` and `patterns` tell what the "
    "last crawl of each spider met, the others everything",
    "--run N,M": "what these runs met",
    "--site HOST": "only items of this site, such as `example.com`, and of hosts below it",
}

#: What a command is for and what its output means, beside the table of its options.
NOTES = {
    "try": """\
    scrapy simhash try news -a section=sports --pages 1000 -o sports.html

It crawls into a temporary index, without feeds and other item pipelines, and without the project's
index, log file and `JOBDIR`. It shows the counts, an item for each reason to keep similar ones, a
table of similarities, and lines for the settings. Ctrl-C shows them early. The plugin need not be
enabled.
""",
    "drops": """\
    scrapy simhash drops --kept
    scrapy simhash drops --run 12 --json > drops.jsonl

It prints a line for each stored item, and below it a line for each of its copies, with the reason
and the first values that differ; with `--kept` all of them. Of a URL that is too long, it shows the
part that the original does not have. `--json` has all of it, and the ids for `restore --id`, in a
[record](#a-record) a line.
""",
    "show": """\
    scrapy simhash show https://example.com/print/17
    scrapy simhash show print/17

It shows what is stored, its history, as a price that went from 12 to 14 and back, what it was a
copy of, and its copies. It looks into all namespaces, unless one is named. If several URLs end in
the given part or, if none does, contain it, it lists them.
""",
    "changes": """\
[Crawl again](recrawls.md#follow-a-site) has examples. Crawls that crashed do not count. A new item
that resembles one that is missing or gone since the same crawl, as an ad that is posted again, is
listed with the former URL and the values that differ.
""",
    "stats": """\
It shows the namespaces, that of the newest run first, and what its last runs checked, kept and
dropped.
""",
    "compare": """\
    scrapy simhash compare may.html june.html
    curl -L https://example.com/june | scrapy simhash compare may.html -

It says what a crawl would decide on B if it had stored A: "near-duplicates", "different",
"different items" (the texts are similar, a fact differs) or "not compared". It also shows the exact
similarity, the distance of the fingerprints, and the facts of both pages. Files count as pages of
one site. A file that does not begin with `<` is a text. Nothing is downloaded.
""",
    "restore": """\
    scrapy simhash restore -o back.jsonl                     # everything in quarantine
    scrapy simhash restore --run 12                          # the drops of a crawl
    scrapy simhash restore --orphans --since 2030-01-31      # what a crash left without an original
    scrapy simhash restore --id 1-17                         # one, by its id in the report
    scrapy simhash restore --run 12 --pipelines news         # into the database of the spider

Add the file to what your crawls have stored: a restored item counts as
[stored](recrawls.md#restored-items), and later crawls do not drop it again. An item that several
crawls dropped is written once. `--id` writes it again. An existing file is never overwritten. The
last line says where the other items of the crawl are.

With `--pipelines`, the spider yields the items in place of a crawl, without this plugin: they pass
through its item pipelines and get into its feeds. Those that a pipeline drops, or fails with, stay
dropped. A feed that would be replaced is refused. Items have the class that they had, unless its
fields have changed; dates and the like are texts.
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
    module_of(command).add_arguments(parser)
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
        parts += [*map(_row, own), ""]
    return "\n".join(parts)


def _row(action: Action) -> str:
    said = [(action.help or "") % vars(action)]
    if action.required and action.option_strings:
        said.append("required")
    names = "`, `".join(_names(action).split(", "))
    return f"- `{names}`: {'; '.join(filter(None, said))}"


def _names(action: Action) -> str:
    given = action.metavar or (f"{{{','.join(action.choices)}}}" if action.choices else "")
    return ", ".join([f"{name} {given}".strip() for name in action.option_strings] or [str(given)])


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
