"""HTML that cannot be broken by what it shows: every text is escaped where it becomes part of the page.

There, control characters and characters that are invisible or turn a line around are spelled as well.
Only `Html` counts as markup, and only this module and the page's own template make any.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Mapping
from typing import Any

from tclose.words import legible, plain

shown = legible  # names and values of the data, for people
EMPTY = frozenset({"br", "meta"})


class Html(str):
    """Markup that is ready for the page."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str | None) -> Html:
    """Return an element; its children are escaped unless they are markup themselves.

    >>> element("p", "a < b", element("b", "&"), class_="note")
    '<p class="note">a &lt; b<b>&amp;</b></p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in EMPTY:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{joined(children)}</{name}>")


def joined(children: Iterable[str]) -> Html:
    """Put pieces one after the other; those that are not markup are escaped."""
    return Html("".join(child if isinstance(child, Html) else _escaped(child) for child in children))


def _escaped(text: str) -> str:
    return html.escape(plain(text))


def table(headings: Iterable[str], rows: Iterable[Iterable[str]], *, caption: str, numbers: int = 0) -> Html:
    """Return a table whose first column names the row; the last `numbers` columns are figures."""
    titles = list(headings)
    figures = len(titles) - numbers
    head = element(
        "tr",
        *(
            element("th", title, scope="col", class_="figure" if i >= figures else None)
            for i, title in enumerate(titles)
        ),
    )
    body = [
        element(
            "tr",
            *(
                element("td", cell, class_="figure" if i >= figures else None)
                if i
                else element("th", cell, scope="row")
                for i, cell in enumerate(row)
            ),
        )
        for row in rows
    ]
    whole = element("table", element("caption", caption), element("thead", head), element("tbody", *body))
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)


def data_block(content: Any, *, identity: str) -> Html:
    """Return JSON for the page's own script; nothing in it can end the block, or begin a comment."""
    text = json.dumps(_spelled(content), separators=(",", ":"), allow_nan=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Html(f'<script type="application/json" id="{html.escape(identity)}">{text}</script>')


def _spelled(content: Any) -> Any:
    """Spell what is invisible in every text, so that no label of a chart turns its line around."""
    if isinstance(content, str):
        return plain(content)
    if isinstance(content, Mapping):
        return {_spelled(key): _spelled(value) for key, value in content.items()}
    return [_spelled(value) for value in content] if isinstance(content, list | tuple) else content


def script_hash(script: str) -> str:
    """Return what a content security policy calls a script that may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
