"""Writes commands.md: what each command of `scrapy simhash` takes, from its own parser."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.cli.command import COMMANDS, _module

if TYPE_CHECKING:
    from argparse import Action

PAGE = Path(__file__).with_suffix(".md")
HEAD = """\
# Commands

<!-- Made by docs/commands.py from what the commands say themselves; a test compares the two. -->

Every option of `scrapy simhash COMMAND`. Each command takes `--help` as well, and `-s NAME=VALUE`
for a setting. [What they are for](report.md#the-command), with examples, is on a page of its own.
"""


def page() -> str:
    """The page, as Markdown."""
    return "\n".join([HEAD, *map(_section, COMMANDS)])


def parser_of(command: str) -> ArgumentParser:
    """A parser that has the arguments of a command, and no others."""
    parser = ArgumentParser(prog=f"scrapy simhash {command}", add_help=False)
    _module(command).add_arguments(parser)
    return parser


def _section(command: str) -> str:
    rows = [_row(action) for action in parser_of(command)._actions]
    said = COMMANDS[command]
    head = f"## {command}\n\n{said[0].upper()}{said[1:]}.\n"
    return "\n".join([head, "| option | meaning |", "|---|---|", *rows, ""] if rows else [head])


def _row(action: Action) -> str:
    given = action.metavar or (f"{{{','.join(action.choices)}}}" if action.choices else "")
    names = [f"{name} {given}".strip() for name in action.option_strings] or [str(given)]
    said = [(action.help or "") % vars(action)]
    if action.required and action.option_strings:
        said.append("required")
    return f"| {', '.join(f'`{name}`' for name in names)} | {'; '.join(filter(None, said))} |"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
