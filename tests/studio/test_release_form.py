"""The form of Publish is made from the declarations of a request, and what is posted becomes a request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tclose import InputError, steps
from tclose.run.knob import FormField
from tclose.studio import publication
from tclose.studio.pages import LANGUAGES, Texts, catalogue, environment
from tclose.studio.publication import FIELDS, FORMATS, POSTED, PROPOSED, asks_for_the_release, files_of, requested

TABLE, POLICY = Path("t.csv"), Path("p.toml")


def asked(**posted: str) -> steps.Request:
    return requested({"format": "csv", **posted}, table=TABLE, policy=POLICY, folder=Path("new"))


def settings(request: steps.Request) -> dict[str, Any]:
    """Return what a request says besides its defaults."""
    said = {name: getattr(request, name) for name in steps.knobs(steps.Request)}
    return {name: value for name, value in said.items() if value != steps.knobs(steps.Request)[name][1]}


def shown(field: publication.ReleaseField, language: str = "en") -> str:
    return str(environment().get_template("parts.html").module.form_field(Texts(language), field))  # type: ignore[attr-defined]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_field_has_its_label_in_every_language(language: str) -> None:
    for field in FIELDS:
        label = catalogue(language)[f"publish.{field.name}"]
        assert f'<label for="{field.name}">{label}</label>' in shown(field, language)
    profile = next(field for field in FIELDS if field.name == "profile")
    assert all(f"<option>{value}</option>" in shown(profile, language) for value in profile.values)
    assert f'<option value="">{catalogue(language)["publish.no_profile"]}</option>' in shown(profile, language)


def test_the_fields_are_those_that_a_request_declares() -> None:
    declared = {name: knob.form.name for name, (knob, _) in steps.knobs(steps.Request).items() if knob.form is not None}
    assert {field.setting: field.name for field in FIELDS} == declared
    assert POSTED == ("name", "format", "columns", "report", "profile")
    assert PROPOSED == {"format": "csv", "report": "yes"}
    profile = next(field for field in FIELDS if field.name == "profile")
    assert profile.values == steps.knobs(steps.Request)["profile"][0].choices


@pytest.mark.parametrize(
    ("posted", "said"),
    [
        ({}, {}),
        ({"columns": "yes"}, {"release_format": "columns"}),
        ({"report": "yes"}, {"report": Path("new/report.html")}),
        ({"report": "yes", "profile": "wp216"}, {"report": Path("new/report.html"), "profile": "wp216"}),
        ({"columns": "", "report": "", "profile": ""}, {}),
    ],
)
def test_what_is_posted_becomes_a_request(posted: dict[str, str], said: dict[str, Any]) -> None:
    request = asked(**posted)
    files = {"policy": POLICY, "out": Path("new/release.csv"), "certificate": Path("new/certificate.json")}
    assert settings(request) == {**files, "public": True, **said}
    assert (request.table, request.policy) == (TABLE, POLICY)


def test_a_name_stands_before_the_names_of_all_files() -> None:
    request = asked(name="visits", format="parquet", report="yes")
    names = {"release": "visits.parquet", "certificate": "visits-certificate.json", "report": "visits-report.html"}
    assert files_of(request, signed=False) == names
    signed = files_of(request, signed=True)
    assert list(signed) == ["release", "certificate", "signature", "report"]
    assert signed["signature"] == "visits-certificate.dsse.json"


@pytest.mark.parametrize(
    ("posted", "wrong"),
    [
        ({"format": "exe"}, "choose a format and a profile"),
        ({"format": ""}, "choose a format and a profile"),
        ({"report": "yes", "profile": "odd"}, "choose a format and a profile"),
        ({"profile": "wp216"}, "a profile is a part of the page"),
        ({"name": "../x"}, "a name has letters"),
        ({"name": "a" * 61}, "a name has letters"),
    ],
)
def test_a_mistake_in_a_form_is_one_sentence(posted: dict[str, str], wrong: str) -> None:
    with pytest.raises(InputError, match=wrong):
        asked(**posted)


@pytest.mark.parametrize("ending", FORMATS)
def test_a_release_is_the_tried_one_only_with_its_settings(ending: str) -> None:
    assert asks_for_the_release(asked(format=ending, report="yes", name="x")) == (ending == "csv")
    assert not asks_for_the_release(asked(format=ending, columns="yes"))


def test_a_setting_that_declares_a_field_is_asked_for_and_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    knobs = steps.knobs(steps.Request)
    guard, usual = knobs["guard_formulas"]
    more = {**knobs, "guard_formulas": (replace(guard, form=FormField("columns", checked=True)), usual)}
    monkeypatch.setattr(steps, "knobs", lambda _: more, raising=False)
    monkeypatch.setattr(publication, "FIELDS", fields := publication._fields())
    assert 'name="columns" type="checkbox" value="yes" checked>' in shown(fields[0])
    assert [field.setting for field in fields] == ["guard_formulas", "release_format", "report", "profile"]
    request = asked(columns="yes")
    assert request.guard_formulas
    assert not asks_for_the_release(request)


def test_a_setting_that_no_field_can_ask_for_is_a_mistake_of_its_declaration() -> None:
    knob, usual = steps.knobs(steps.Request)["seed"]
    with pytest.raises(TypeError, match="no field for 'seed'"):
        _ = publication.ReleaseField("seed", "seed", knob, usual, False).values
