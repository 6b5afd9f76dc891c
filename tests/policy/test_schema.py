"""The declarations of policy keys: the schema takes what the reader takes, and the guide has every key."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.policy_keys import differences

from tclose.errors import TcloseError
from tclose.policy import Context, Joint, Policy, Presence, Pseudonym, Quasi, Sensitive, SourceSettings
from tclose.policy.settings import AS_TEXT, Setting, declared, table_of
from tclose.policy.toml import OF_COLUMNS, as_toml, schema

ROOT = Path(__file__).parents[2]
SCHEMA = schema()
VALID = Draft202012Validator(SCHEMA)
KEYS = [
    (kind, name)
    for kind in (Policy, Quasi, Sensitive, Presence, Joint, Context, SourceSettings)
    for name in declared(kind)
]
FENCE = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def as_json(value: Any) -> Any:
    """Return what an editor compares with the schema: numbers as floats, days as text, files by their names."""
    if isinstance(value, Mapping):
        return {str(name): as_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(part) for part in value]
    if isinstance(value, Decimal | Fraction):
        return int(value) if value == int(value) else float(value)
    return str(value) if isinstance(value, date | Path) else value


def takes(of: Any, value: Any) -> bool:
    """Tell whether the schema of a key takes a value."""
    return Draft202012Validator(of).is_valid(as_json(value))


def reads(read: Callable[..., object], *given: Any) -> bool:
    """Tell whether a reader takes a value."""
    try:
        read(*given)
    except TcloseError:
        return False
    return True


def has_more_rules(of: Any) -> bool:
    """Tell whether a schema says that its reader has rules besides it."""
    if isinstance(of, Mapping):
        return "$comment" in of or any(map(has_more_rules, of.values()))
    return isinstance(of, list) and any(map(has_more_rules, of))


def without_numbers_as_text(of: Any) -> Any:
    """Return a schema that takes numbers, but none that is written as text."""
    if isinstance(of, Mapping):
        inner = {name: without_numbers_as_text(part) for name, part in of.items()}
        return {**inner, "type": of["type"][0]} if of.get("pattern") == AS_TEXT else inner
    return [without_numbers_as_text(part) for part in of] if isinstance(of, list) else of


# --- every policy that is written down ---


def written() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every policy of the tests, the docs, the examples and the benches that stands there as it is."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        yield from ((page.name, tomllib.loads(block)) for block in FENCE.findall(page.read_text(encoding="utf-8")))
    yield "the example", tomllib.loads((ROOT / "src/tclose/examples/policy.toml").read_text(encoding="utf-8"))
    for path in [*(ROOT / "tests").rglob("*.py"), *(ROOT / "bench").glob("*.py")]:
        text = path.read_text(encoding="utf-8")
        if "quasi" in text:
            yield from ((path.name, each) for each in policies_in(text))


def policies_in(code: str) -> Iterator[dict[str, Any]]:
    """Yield the policies in Python code: dictionaries of literals, and texts of TOML files."""
    for node in ast.walk(ast.parse(code)):
        try:
            if isinstance(node, ast.Dict) and any(
                isinstance(key, ast.Constant) and key.value == "quasi" for key in node.keys
            ):
                yield ast.literal_eval(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "quasi" in node.value:
                yield tomllib.loads(node.value)
        except (ValueError, tomllib.TOMLDecodeError):  # it is put together, or no policy
            continue


def test_the_schema_takes_every_policy_that_is_read() -> None:
    found = [(place, policy) for place, policy in written() if reads(Policy.from_dict, policy)]
    assert len(found) > 200
    refused = [(place, policy) for place, policy in found if not VALID.is_valid(as_json(policy))]
    assert refused == []


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["additionalProperties"] is False
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"kk": 5}, []),
        ({"k": 0}, ["k"]),
        ({"suppress": 1.5}, ["suppress"]),
        ({"loss": "gpc"}, ["loss"]),
        ({"sensitive": {"ldl": {"t": "none"}}}, ["sensitive", "ldl", "t"]),
        ({"sensitive": {"ldl": {"recursive": {"c": 3}}}}, ["sensitive", "ldl", "recursive"]),
        ({"presence": {"population": "all.csv"}}, ["presence"]),
        ({"joint": [{"attributes": ["a"], "t": 0.2}]}, ["joint", 0, "attributes"]),
        ({"pseudonym": {"ssn": {}}}, ["pseudonym", "ssn"]),
        ({"context": {"sampling_fraction": 0.1, "sampling_weight": "w"}}, ["context"]),
    ],
)
def test_a_mistake_is_marked_at_its_place(wrong: Any, place: list[Any]) -> None:
    (error,) = VALID.iter_errors(wrong)
    assert list(error.absolute_path) == place


# --- any value ---

NAMES = st.sampled_from(["a", "b", "c", "d", "column", "<0.2", "x y", ""])
WORDS = st.sampled_from(
    ["error", "drop", "half", "mean", "month", "year", "utf8", "UTF-8", "DD.MM.YYYY", "2027-01-31", "csv", ","]
)
NUMBERS = st.sampled_from([-1, 0, 1, 2, 3, 5, 0.2, 0.5, 1.5, 20, 1e9, "1/3", "0.2", " 7 ", "1e-3", "x", True])
CELLS = NAMES | WORDS | NUMBERS | st.just(date(2027, 1, 31))
ANY = st.recursive(
    CELLS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(NAMES | st.sampled_from(["t", "c", "l", "width", "key"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def fitting(of: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that a schema takes, and some that it does not."""
    if "anyOf" in of:
        return st.one_of(*map(fitting, of["anyOf"]))
    if "enum" in of:
        return st.sampled_from(of["enum"])
    kinds = of["type"] if isinstance(of["type"], list) else [of["type"]]
    return st.one_of(*(each for kind in kinds for each in OF_KIND[kind](of)))


def table(of: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    named = {name: fitting(part) for name, part in of.get("properties", {}).items()}
    if not named:
        return st.dictionaries(
            NAMES, fitting(of["additionalProperties"]), min_size=of.get("minProperties", 0), max_size=3
        )
    needed = {name: part for name, part in named.items() if name in of.get("required", ())}
    some = st.sampled_from(sorted(named)).flatmap(lambda name: st.fixed_dictionaries({name: named[name]}))
    return st.tuples(st.fixed_dictionaries(needed), some).map(lambda parts: parts[0] | parts[1])


OF_KIND: dict[str, Callable[[Mapping[str, Any]], list[st.SearchStrategy[Any]]]] = {
    "number": lambda of: [st.sampled_from([of.get("minimum", 0), of.get("maximum", 3), 0.25, 1, 7])],
    "integer": lambda of: [st.sampled_from([of["minimum"], of["minimum"] + 1, 40])],
    "string": lambda of: [NAMES | WORDS | st.just("2")],
    "boolean": lambda of: [st.booleans()],
    "array": lambda of: [
        st.lists(fitting(of.get("items", {"type": "string"})), min_size=of.get("minItems", 0), max_size=4)
    ],
    "object": lambda of: [table(of)],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), KEYS, ids=lambda part: part if isinstance(part, str) else part.__name__)
def test_a_key_takes_what_its_schema_takes(kind: Any, name: str) -> None:
    reader = declared(kind)[name].reader

    @given(ANY | fitting(reader.schema))
    def compare(value: Any) -> None:
        is_read, is_taken = reads(reader, value, name), takes(reader.schema, value)
        assert is_taken or not is_read
        if not has_more_rules(reader.schema) and kind is not Policy:  # whose tables have rules between their keys
            assert is_read or not takes(without_numbers_as_text(reader.schema), value)

    compare()


@given(table({**SCHEMA, "required": ["quasi", "sensitive", "k"]}))
def test_a_whole_policy_that_is_read_is_taken(policy: dict[str, Any]) -> None:
    if reads(Policy.from_dict, policy):
        assert VALID.is_valid(as_json(policy))
        again = Policy.from_dict(tomllib.loads(as_toml(Policy.from_dict(policy).to_dict())))
        assert again.to_dict() == Policy.from_dict(policy).to_dict()


# --- what is declared ---


def test_every_key_says_what_it_means() -> None:
    for kind, name in [*KEYS, (Pseudonym, "key")]:
        setting: Setting = declared(kind)[name]
        assert re.fullmatch(r"[A-Z].*[.]", setting.help), name
        assert setting.reader.schema, name
        assert not setting.label.endswith("."), name


def test_defaults_are_those_of_the_fields() -> None:
    properties = SCHEMA["properties"]
    defaults = {name: each["default"] for name, each in properties.items() if "default" in each}
    assert defaults == {"others": "error", "k": 1, "suppress": 0, "missing": [""], "loss": "gcp"}
    assert {name: getattr(Policy(quasi=["a"], k=2), name) for name in ("others", "suppress", "missing", "loss")} == {
        "others": "error", "suppress": 0, "missing": ("",), "loss": "gcp",
    }  # fmt: skip
    assert {each.name for each in fields(Policy)} == set(properties)


def test_tables_of_columns_are_found_by_their_schema() -> None:
    assert {"quasi", "sensitive", "pseudonym"} == OF_COLUMNS


# --- the guide ---

TABLES = {  # the page and the heading under which the keys of a class stand in tables
    Policy: ("guide.md", "## The policy, key by key"),
    Quasi: ("guide.md", "### A quasi-identifier"),
    Sensitive: ("guide.md", "### The keys of a sensitive attribute"),
    Presence: ("guide.md", "### presence"),
    Joint: ("guide.md", "### Attributes together"),
    Context: ("profiles.md", "## `[context]`"),
    SourceSettings: ("files.md", "## What was detected is said, and can be declared"),
    Pseudonym: ("pseudonyms.md", "# Pseudonyms"),
}


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.__name__)
def test_the_guide_has_every_key_with_what_it_means_and_no_other(kind: Any) -> None:
    page, heading = TABLES[kind]
    keys = table_of(kind).schema["properties"]
    assert differences((ROOT / "docs" / page).read_text(encoding="utf-8"), heading, keys) == []
