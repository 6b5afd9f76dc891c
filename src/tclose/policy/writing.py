"""Settings written as a policy file: what `Policy.load` reads back as the same settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tclose.policy.draft.spelling import key, toml

OF_COLUMNS = ("quasi", "sensitive", "pseudonym")  # whose settings are tables of their own


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
            blocks += ["\n".join([f"[[{key(name)}]]", *_lines(each)]) for each in value]
        elif name in OF_COLUMNS and value:
            blocks += ["\n".join([f"[{name}.{key(column)}]", *_lines(each)]) for column, each in value.items()]
        else:
            blocks.append("\n".join([f"[{key(name)}]", *_lines(value)]))
    return "\n\n".join(blocks) + "\n"


def _is_table(name: str, value: Any) -> bool:
    tables = isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)
    return tables or isinstance(value, Mapping)


def _lines(settings: Mapping[str, Any]) -> list[str]:
    return [f"{key(name)} = {_value(value)}" for name, value in settings.items()]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key(name)} = {_value(part)}" for name, part in value.items()) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value) if isinstance(value, float) else toml(value)
