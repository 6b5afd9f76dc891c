"""A steward with a German file, as Excel and as CSV: from the file to a verified, signed release, with one edit."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import random
import re
import stat
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from tclose.policy.source import PLAIN
from tclose.table.sources import read_table

Run = Callable[..., Any]
HEADER = ["Patientennummer", "Nachname", "Geburtsdatum", "PLZ", "Geschlecht", "Größe in m", "Cholesterin (mg/dl)"]
FAMILY = ["Müller", "Schäfer", "Jäger", "Köhler", "Weiß", "Groß", "Büttner", "Schröder"]


def patients(rows: int = 200) -> list[list[Any]]:
    """Invent patients; numbers are floats, dates are dates, every seventh lab value is missing."""
    chance = random.Random(7)
    return [
        [
            10_000 + row,
            chance.choice(FAMILY),
            date(1930, 1, 1) + timedelta(days=chance.randrange(27_000)),
            f"{chance.randint(1, 9)}{chance.randint(1000, 9999)}",
            chance.choice(["männlich", "weiblich"]),
            chance.randint(150, 199) / 100,
            None if chance.random() < 0.15 else chance.randint(1200, 2990) / 10,
        ]
        for row in range(rows)
    ]


def german(cell: Any) -> str:
    """Write a cell as a German spreadsheet shows it."""
    if isinstance(cell, date):
        return cell.strftime("%d.%m.%Y")
    return "" if cell is None else str(cell).replace(".", ",")


def as_csv() -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=";").writerows([HEADER, *([german(cell) for cell in row] for row in patients())])
    return text.getvalue().encode("cp1252")


def as_excel(*, texts: bool) -> bytes:
    xlsxwriter = pytest.importorskip("xlsxwriter", reason="pip install 'tclose[excel]'")
    pytest.importorskip("fastexcel", reason="pip install 'tclose[excel]'")
    buffer = io.BytesIO()
    book = xlsxwriter.Workbook(buffer, {"in_memory": True, "default_date_format": "dd.mm.yyyy"})
    sheet = book.add_worksheet("Patienten")
    for number, row in enumerate([HEADER, *patients()]):
        for place, cell in enumerate(row):
            if texts and not isinstance(cell, int):
                sheet.write_string(number, place, german(cell))
            elif cell is not None:
                sheet.write(number, place, cell)
    book.close()
    return buffer.getvalue()


FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "patienten.csv": (as_csv, "note: read as Windows-1252, separator ;, decimal comma, dates dd.mm.yyyy\n"),
    "patienten.xlsx": (lambda: as_excel(texts=False), 'note: read as an Excel workbook, sheet "Patienten"\n'),
    "texte.xlsx": (
        lambda: as_excel(texts=True),
        'note: read as an Excel workbook, decimal comma, dates dd.mm.yyyy, sheet "Patienten"\n',
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_from_the_file_to_a_verified_signed_release(tclose: Run, folder: Path, name: str) -> None:
    pytest.importorskip("cryptography", reason="pip install 'tclose[sign]'")
    made, note = FILES[name]
    (folder / name).write_bytes(made())

    key = tclose("keygen", "--out", "steward")
    assert (key.status, key.err) == (0, "")
    drafted = tclose("init", name, "--out", "policy.toml")
    assert (drafted.status, drafted.err) == (0, note)
    draft = Path("policy.toml").read_text(encoding="utf-8")
    assert 'identifiers = ["Patientennummer", "Nachname"]' in draft
    assert "[quasi.Geburtsdatum]\n" in draft
    assert '[sensitive."Cholesterin (mg/dl)"]' in draft

    edited = re.sub(r"^# t = 0\.\?.*$", "t = 0.3", draft, flags=re.MULTILINE)  # the one edit: choose every t
    Path("policy.toml").write_text(edited, encoding="utf-8")

    files = ("--out", "release.xlsx" if name.endswith(".xlsx") else "release.csv", "--certificate", "certificate.json")
    signed = ("--record", "record.json", "--sign", "steward")
    published = tclose("anonymize", name, "--policy", "policy.toml", *files, *signed, "--effort", "fast")
    assert published.status == 0, published.err
    assert "Signed: certificate.dsse.json" in published.out
    assert "note: " not in published.err  # nothing is guessed a second time

    verified = tclose("verify", files[1], "--certificate", "certificate.dsse.json", "--signer", "steward.pub")
    assert verified.status == 0, verified.out
    assert "Signed by 1 key of 1 given" in verified.out
    assert "meets its policy" in verified.out
    audited = ("--record", "record.json", "--original", name)
    assert tclose("verify", files[1], "--certificate", "certificate.json", *audited).status == 0
    assert_nothing_leaks(files[1])
    assert_the_envelope_leaks_nothing()


def assert_nothing_leaks(release: str) -> None:
    """Assert that neither a name nor a patient's number nor an exact day of birth was published."""
    frame = read_table(release, source=PLAIN).frame
    assert frame.columns == HEADER[2:]
    assert frame.height == 200
    cells = {str(cell) for column in frame.iter_columns() for cell in column}
    for number, family, born, *_ in patients():
        assert not cells & {str(number), family, born.isoformat(), german(born)}
    certificate = Path("certificate.json").read_text(encoding="utf-8")
    assert not re.search(r"windows-1252|dd\.mm\.yyyy|Patienten\"|\"source\": \{", certificate)


def assert_the_envelope_leaks_nothing() -> None:
    """Assert that what is signed is the certificate, and that neither key nor seed stands in it."""
    payload = base64.b64decode(json.loads(Path("certificate.dsse.json").read_text())["payload"]).decode()
    statement, record = json.loads(payload), json.loads(Path("record.json").read_text())
    assert statement["predicate"] == json.loads(Path("certificate.json").read_text(encoding="utf-8"))
    secrets = [str(record["seed"]), *record["commitment_keys"].values(), Path("steward").read_text().splitlines()[1]]
    assert not any(secret in payload for secret in secrets)
    assert not re.search(r"windows-1252|dd\.mm\.yyyy|Patienten\"", payload)
    if os.name != "nt":
        assert {stat.S_IMODE(Path(name).stat().st_mode) for name in ("steward", "record.json")} == {0o600}


def test_an_eighteen_and_a_seventy_three_year_old_are_not_one_class(tclose: Run, folder: Path) -> None:
    """With decimal commas taken for text, ages would be sorted as words and all be one set."""
    rows = "".join(f"{age},5;{age % 2}\n" for age in (18, 19, 20, 21, 73, 74, 75, 76))
    (folder / "t.csv").write_text("Alter;krank\n" + rows)
    (folder / "p.toml").write_text("k = 2\n[quasi.Alter]\n[sensitive.krank]\nt = 0.5\n")
    tclose("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--seed", "1", "--method", "mondrian")
    ages = set(read_table("r.csv", source=PLAIN).frame["Alter"])
    assert ages == {"[18.5, 19.5]", "[20.5, 21.5]", "[73.5, 74.5]", "[75.5, 76.5]"}
