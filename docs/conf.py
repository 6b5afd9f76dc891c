"""The site that `make docs` builds from README.md, CHANGELOG.md and the pages of this folder, by Sphinx.

The source folder is the repository, so that every link between its pages works here as it does in the repository. A new
page of this folder needs no entry anywhere: it joins the how-to pages, unless GROUPS puts it elsewhere.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
GROUPS = {  # the pages of docs/ in the order of the navigation; all others are how-to pages
    "how-to": ("studio", "guide", "python", "large-tables", "security", "ci"),
    "mathematics": ("method", "bound", "weave", "similarity", "papers"),
    "developers": ("architecture",),
}
ELSEWHERE = {"index", "tutorial", "reference", "glossary"}  # pages that index.md names itself

project = "tclose"
author = "the authors of tclose"
release = version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "docs/index"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "bench/RESULTS.md", "docs/**"]
exclude_patterns = ["docs/requirements.txt", "docs/_*"]

myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # the glossary has one level for its terms
myst_enable_extensions = ["colon_fence"]
default_role = "code"  # docstrings put names in single backticks
autodoc_mock_imports = ["pyspark", "pyarrow", "pandera"]
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "description"
autodoc_preserve_defaults = True

html_theme = "furo"
html_title = f"tclose {release}"
html_copy_source = False
html_show_sourcelink = False
html_additional_pages = {"index": "first.html"}  # leads to docs/index.html
templates_path = ["_templates"]
html_theme_options = {"footer_icons": []}


def _pages(group: str) -> list[str]:
    """Return the pages of a group that exist; the how-to pages also get every page that nobody names."""
    named = {page for pages in GROUPS.values() for page in pages} | ELSEWHERE
    known = [page for page in GROUPS[group] if (HERE / f"{page}.md").exists()]
    others = sorted(path.stem for path in HERE.glob("*.md") if path.stem not in named)
    return known + others if group == "how-to" else known


def _fill(_app: Any, docname: str, source: list[str]) -> None:
    """Put the lists of pages into the index."""
    if docname == root_doc:
        for group in GROUPS:
            source[0] = source[0].replace(f"PAGES:{group}", "\n".join(_pages(group)))


def setup(app: Any) -> None:
    """Tell Sphinx about the index."""
    app.connect("source-read", _fill)
