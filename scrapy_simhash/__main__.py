"""``python -m scrapy_simhash``: the commands that need no Scrapy, which takes long to import."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from configparser import ConfigParser
from importlib import import_module
from pathlib import Path
from typing import Any

from scrapy_simhash.cli.parser import ALONE, add_commands, module_of


def main() -> int:
    """Run a command; returns the exit code."""
    parser = ArgumentParser(
        prog="python -m scrapy_simhash",
        description="The commands of scrapy simhash that need no Scrapy, in half of the time.",
    )
    add_commands(parser, parser.prog, ALONE)
    options = parser.parse_args()
    if options.command is None:
        parser.error("a command is missing")
    command = module_of(options.command)
    code: int = import_module("scrapy_simhash.cli.main").main(command, _settings(options), options)
    return code


def _settings(options: Namespace) -> dict[str, Any]:
    """The settings of the project in this folder, found as by Scrapy, and of the options."""
    module, folder = os.environ.get("SCRAPY_SETTINGS_MODULE"), Path.cwd()
    for place in (folder, *folder.parents):
        if (path := place / "scrapy.cfg").exists():
            config = ConfigParser()
            config.read(path, "utf-8")
            name = os.environ.get("SCRAPY_PROJECT", "default")
            module = module or config.get("settings", name, fallback=None)
            sys.path.append(str(place))
            break
    found = vars(import_module(module)) if module else {}
    settings = {name: value for name, value in found.items() if name.isupper()}
    for given in getattr(options, "set", ()):
        name, is_set, value = given.partition("=")
        if not is_set:
            sys.exit(f"python -m scrapy_simhash: -s {given}: expected NAME=VALUE")
        settings[name] = value
    return settings


if __name__ == "__main__":
    sys.exit(main())
