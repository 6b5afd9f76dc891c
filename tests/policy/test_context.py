"""The steward's sentences: how `[context]` is read, and that it stays out of everything but a page."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import Policy, PolicyError
from tclose.policy import Context, SignOff
from tclose.policy.tables import LONGEST, SENTENCES
from tclose.policy.variants import group_policy, k_alone, projection_policy, scaled

PLAIN: dict[str, Any] = {"quasi": ["age"], "sensitive": {"ldl": {"t": 0.2}}, "k": 2}
FULL = """
quasi = ["age"]
k = 2
[sensitive.ldl]
t = 0.2
[context]
recipient = '''
  The registry.
  A second line. '''
sign_off = { name = "A. Steward", date = 2026-11-16 }
review_date = "2027-11-16"
sampling_fraction = 0.1
[context.roles]
age = "Neighbours know it."
"""


def with_context(**context: Any) -> Policy:
    return Policy.from_dict({**PLAIN, "context": context})


def test_everything_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(FULL, encoding="utf-8")
    context = Policy.load(tmp_path / "p.toml").context
    assert context is not None
    assert context.recipient == "The registry.\n  A second line."
    assert context.sign_off == SignOff("A. Steward", date(2026, 11, 16))
    assert context.review_date == date(2027, 11, 16)
    assert context.sampling_fraction == Fraction(1, 10)
    assert context.roles == {"age": "Neighbours know it."}
    assert context.purpose == ""


def test_python_gives_the_same() -> None:
    context = Context(recipient="X", roles={"age": "Y"}, review_date=date(2027, 1, 1))
    assert Policy(**PLAIN, context=context).context == context  # type: ignore[arg-type]
    assert with_context(review_date=datetime(2027, 1, 1, 12)).context == Context(review_date=date(2027, 1, 1))


@settings(deadline=None, max_examples=examples(20))
@given(text=st.text(max_size=50))
def test_no_sentence_leaves_a_policy(text: str) -> None:
    secret = f"secret {text} secret"
    policy = with_context(**dict.fromkeys(SENTENCES, secret), sign_off={"name": secret, "date": "2026-01-01"})
    assert "context" not in policy.to_dict()
    assert "secret" not in repr(policy) + str(policy.to_dict())
    assert policy.to_dict() == Policy.from_dict(PLAIN).to_dict()


@pytest.mark.parametrize(
    ("context", "place", "words"),
    [
        ({"recipent": "x"}, "context", "did you mean 'recipient'"),
        ({"recipient": 3}, "context.recipient", "expected text"),
        ({"recipient": ["a"]}, "context.recipient", "expected text"),
        ({"purpose": "x" * 1_000_000}, "context.purpose", "not 1,000,000: name the document"),
        ({"roles": "x"}, "context.roles", 'COLUMN = "a sentence"'),
        ({"roles": {"age": 1, "ldl": 2}}, "context.roles.age", "expected text"),
        ({"roles": {"agee": "x"}}, "context.roles.agee", "the policy names no column 'agee' (did you mean 'age'?)"),
        ({"safe_harbor": {"zip": "x"}}, "context.safe_harbor.zip", "the policy names no column 'zip'"),
        ({"sign_off": "me"}, "context.sign_off", "expected a table"),
        ({"sign_off": {"name": "me"}}, "context.sign_off", "expected both"),
        ({"sign_off": {"name": " ", "date": "2026-01-01"}}, "context.sign_off", "expected both"),
        ({"sign_off": {"name": "me", "date": "soon"}}, "context.sign_off.date", "expected a day such as 2027-01-31"),
        ({"review_date": "31.01.2027"}, "context.review_date", "expected a day"),
        ({"review_date": 2027}, "context.review_date", "expected a day"),
        ({"sampling_fraction": 0}, "context.sampling_fraction", "above 0 and at most 1"),
        ({"sampling_fraction": 1.1}, "context.sampling_fraction", "above 0 and at most 1"),
        ({"sampling_fraction": 0.1, "sampling_weight": "w"}, "context", "not both"),
    ],
)
def test_mistakes_are_named(context: dict[str, Any], place: str, words: str) -> None:
    with pytest.raises(PolicyError) as error:
        with_context(**context)
    assert place in str(error.value)
    assert words in str(error.value)
    assert len(str(error.value)) < 600


def test_all_mistakes_at_once() -> None:
    with pytest.raises(PolicyError) as error:
        with_context(recipient=1, purpose=2)
    assert "recipient" in str(error.value)
    assert "purpose" in str(error.value)


def test_the_longest_sentence_is_read() -> None:
    assert with_context(purpose="x" * LONGEST + "  \n").context == Context(purpose="x" * LONGEST)


def test_columns_that_are_dropped_may_have_a_reason() -> None:
    policy = Policy.from_dict({**PLAIN, "others": "drop", "context": {"roles": {"notes": "Free text."}}})
    assert policy.context == Context(roles={"notes": "Free text."})


def test_policies_with_fewer_columns_can_be_derived() -> None:
    policy = with_context(roles={"age": "x", "ldl": "y"})
    assert group_policy(policy, "group").context == policy.context
    assert projection_policy(policy, [], first=True).context == policy.context
    assert scaled(k_alone(policy, 2), Fraction(1, 2)).context == policy.context


PAGE = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text(encoding="utf-8")


def test_the_example_of_the_docs_is_read() -> None:
    example = "\n".join(line[4:] for line in PAGE.splitlines() if line.startswith("    "))
    given = tomllib.loads(example[example.index("[context]") :])
    columns = {"quasi": ["age", "zip"], "sensitive": {"ldl": {"t": 0.2}}}
    context = Policy.from_dict({**columns, **given}).context
    assert context is not None
    assert context.sign_off == SignOff("A. Steward", date(2026, 11, 16))


def test_the_docs_explain_every_key() -> None:
    assert [
        each.name for each in fields(Context) if f"`{each.name}`" not in PAGE and f"context.{each.name}" not in PAGE
    ] == []
