"""Configuration of Sphinx, for the site that `make docs` builds."""

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

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build"]
nitpicky = True
# Signatures name private types and types of other packages, which no page documents.
nitpick_ignore_regex = [("py:.*", r"(?!scrapy_simhash\.\w+$).*")]

# Anchors of headings, named as on GitHub.
myst_heading_anchors = 4

copybutton_prompt_text = "$ "

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"

html_theme = "pydata_sphinx_theme"
html_title = project
html_show_sourcelink = False
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["site.css"]
# Pages without other pages below them.
html_sidebars = dict.fromkeys(["start", "compared", "troubleshooting", "changelog"], ())
html_theme_options = {
    "header_links_before_dropdown": 5,
    "show_toc_level": 2,  # every setting is in the contents of its page
    "footer_start": ["copyright"],
    "footer_end": [],
}


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _name_files_of_the_project)


def _name_files_of_the_project(app: Sphinx, page: str, source: list[str]) -> None:
    """Show links to files outside docs/, which are not on the site, as code."""
    source[0] = re.sub(r"\[([^]]+)\]\(\.\./[^)]+\)", r"`\1`", source[0])
