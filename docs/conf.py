"""How Sphinx makes the site of these pages: `make docs`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_simhash import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "scrapy-simhash"
author = "The scrapy-simhash developers"
copyright = "The scrapy-simhash developers"  # noqa: A001 - what Sphinx calls it
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
nitpicky = True
# What signatures name and no page describes: private types, and those of other packages.
nitpick_ignore_regex = [("py:.*", r"(?!scrapy_simhash\.\w+$).*")]

# Links lead to headings by the names that GitHub gives them, as a test checks for every page.
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"

html_theme = "pydata_sphinx_theme"
html_title = project
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
# These have no pages below them.
html_sidebars = dict.fromkeys(["start", "compared", "troubleshooting"], ())
html_theme_options = {
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
}


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _name_files_of_the_project)


def _name_files_of_the_project(app: Sphinx, page: str, source: list[str]) -> None:
    """What lies beside docs/ is on no site: it is named instead of linked to."""
    source[0] = re.sub(r"\[([^]]+)\]\(\.\./[^)]+\)", r"`\1`", source[0])
