"""``python -m scrapy_simhash``: the commands that need no Scrapy, which takes long to import."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from configparser import ConfigParser
from importlib import import_module
from pathlib import Path
from typing import Any

from scrapy_simhash.cli.main import add_commands, parse_options, run_command

_COMMANDS = ("dedupe", "compare", "explain")


def main() -> int:
    """Run a command; returns the exit code."""
    parser = ArgumentParser(
        prog="python -m scrapy_simhash",
        usage="%(prog)s <command> [options]",
        description="The commands of scrapy simhash that need no Scrapy, in half of the time.",
    )
    add_commands(parser, _COMMANDS)
    options = parse_options(parser, parser.prog, _COMMANDS, parser.parse_args())
    return run_command(options, _project_settings() | dict(options.settings))


def _project_settings() -> dict[str, Any]:
    """The settings of the project in this folder, which is found as by Scrapy."""
    module, folder = os.environ.get("SCRAPY_SETTINGS_MODULE"), Path.cwd()
    for parent in (folder, *folder.parents):
        if (path := parent / "scrapy.cfg").exists():
            config = ConfigParser()
            config.read(path, "utf-8")
            name = os.environ.get("SCRAPY_PROJECT", "default")
            module = module or config.get("settings", name, fallback=None)
            sys.path.append(str(parent))
            break
    values = vars(import_module(module)) if module else {}
    return {name: value for name, value in values.items() if name.isupper()}


if __name__ == "__main__":
    sys.exit(main())
