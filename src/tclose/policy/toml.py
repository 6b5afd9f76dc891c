"""A policy file: names and settings as TOML, which `Policy.load` reads back, and the JSON Schema of the whole file.

Nothing that is written is invisible, or would be obeyed by a terminal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tclose.policy.model import Policy
from tclose.policy.settings import declared, spelled, table_of

# Keys and values


def toml_key(name: str) -> str:
    """Spell a column's name as a key.

    >>> toml_key("marital-status"), toml_key("a b")
    ('marital-status', '"a b"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def toml_value(value: Any) -> str:
    r"""Spell a setting.

    >>> toml_value({"date": ["month", "year"]}), toml_value("\x9b[2J"), toml_value(20)
    ('{ date = ["month", "year"] }', '"\\u009b[2J"', '20')
    """
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(name)} = {toml_value(part)}" for name, part in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, str):
        return "".join(map(_visible, json.dumps(value, ensure_ascii=False)))
    return str(value) if isinstance(value, int) else json.dumps(spelled(value))


def _visible(letter: str) -> str:
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"


# A policy file


def _names_columns(schema: Mapping[str, Any]) -> bool:
    """Tell whether a key has a table of its own for each of some columns."""
    return any(isinstance(each.get("additionalProperties"), Mapping) for each in (schema, *schema.get("anyOf", ())))


OF_COLUMNS = {name for name, setting in declared(Policy).items() if _names_columns(setting.reader.schema)}
REMAINS = (
    "A policy that this schema takes can still be refused: by rules between keys, by the table, and by the rules that "
    'stand in a $comment below. A number that is written as text, such as "1/3", has the limits of a number. '
    "tclose check says what is wrong."
)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a policy file, for editors: it refuses nothing that `Policy.load` takes.

    >>> schema()["properties"]["k"]["description"]
    'The smallest number of rows or persons in a class.'
    """
    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Policy of tclose",
        "$comment": REMAINS,
    }
    return {**about, **table_of(Policy).schema}


def as_toml(settings: Mapping[str, Any]) -> str:
    """Write settings shaped as a policy file is; those of each column are a table of their own.

    >>> print(as_toml({"k": 5, "quasi": {"age": {}}, "sensitive": {"pay": {"t": 0.2}}}), end="")
    k = 5
    <BLANKLINE>
    [quasi.age]
    <BLANKLINE>
    [sensitive.pay]
    t = 0.2
    """
    plain = {name: value for name, value in settings.items() if not _is_table(name, value)}
    blocks = ["\n".join(_lines(plain))] if plain else []
    for name, value in settings.items():
        if name in plain:
            continue
        if isinstance(value, list):
            blocks += ["\n".join([f"[[{toml_key(name)}]]", *_lines(each)]) for each in value]
        elif name in OF_COLUMNS and value:
            blocks += ["\n".join([f"[{name}.{toml_key(column)}]", *_lines(each)]) for column, each in value.items()]
        else:
            blocks.append("\n".join([f"[{toml_key(name)}]", *_lines(value)]))
    return "\n\n".join(blocks) + "\n"


def _is_table(name: str, value: Any) -> bool:
    tables = isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)
    return tables or isinstance(value, Mapping)


def _lines(settings: Mapping[str, Any]) -> list[str]:
    return [f"{toml_key(name)} = {_value(value)}" for name, value in settings.items()]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(name)} = {_value(part)}" for name, part in value.items()) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value) if isinstance(value, float) else toml_value(value)
