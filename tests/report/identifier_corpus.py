# ruff: noqa: E501 - one line for each kind of column
"""Small tables with planted identifiers of all 18 kinds of HIPAA's Safe Harbor, beside ordinary columns.

Every table is made by code from a seed. `open_tables` were looked at while the rules were written; `held_back` were
not. A table knows which identifiers were planted in it; `doubtful` are those that no reader of the cells could decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

ROWS = 24
Cells = list[str]


@dataclass(frozen=True)
class PlantedTable:
    """Published columns of one table, and the letters of the identifiers that stand in them."""

    name: str
    columns: dict[str, Cells]
    planted: frozenset[str]
    doubtful: frozenset[str] = field(default_factory=frozenset)


def _digits(chance: Random, length: int) -> str:
    return "".join(str(chance.randint(0 if place else 1, 9)) for place in range(length))


def _filled(chance: Random, values: Sequence[str]) -> Cells:
    return [chance.choice(values) for _ in range(ROWS)]


def _each(make: Callable[[], str]) -> Cells:
    return [make() for _ in range(ROWS)]


def spellings(values: Cells, chance: Random) -> Iterator[tuple[str, Cells]]:
    """Yield a column as it is, with one value, with two, with a cell `unknown`, in sets, and in mixed case."""
    yield "as it is", values
    yield "one value", [values[0]] * ROWS
    yield "two values", [values[place % 2] for place in range(ROWS)]
    yield "unknown", ["unknown", *values[1:]]
    yield "missing", [f"{value} or missing" if place % 3 else "missing" for place, value in enumerate(values)]
    yield "sets", ["{" + ", ".join(sorted({value, values[0]})) + "}" for value in values]
    yield "case", [value.swapcase() if chance.random() < 0.5 else value for value in values]


FIRST = ("Anna", "Bernd", "Chiara", "Dmitri", "Esra", "Fátima", "Guo", "Hana", "Igor", "Jürgen")
LAST = ("Smith", "Müller", "O'Brien", "Nguyễn", "van der Berg", "Kowalski", "Young", "García", "Ito", "Low")
STREETS = ("12 Main Street", "Hauptstraße 4", "7 rue de la Paix", "Calle Mayor 3", "221B Baker St.")
TOWNS = ("Springfield", "Bonn", "Ústí nad Labem", "Normal", "Paris", "St. Ives")
ZIPS = ("02139", "53113", "90210", "10115", "60601")
WORDS = ("seen", "at", "night", "by", "the", "nurse", "call", "daughter", "back", "tomorrow")


def identifiers(chance: Random) -> dict[str, list[tuple[Sequence[str], Cells]]]:
    """Return, by letter, names that a column may have and cells that it may hold."""

    def two(top: int) -> str:
        return f"{chance.randint(1, top):02}"

    def days() -> int:
        return chance.randint(1930, 2024)

    return {
        "A": [
            (("name", "surname", "PatName", "x1"), _each(lambda: f"{chance.choice(FIRST)} {chance.choice(LAST)}")),
            (("LAST_NAME", "nachname", "V3", "q7_2"), _filled(chance, LAST)),
            (("initials", "var12"), _each(lambda: "".join(chance.choice("ABCDEFGH") for _ in range(2)))),
            (("physician_name", "treated_by"), _each(lambda: f"Dr. {chance.choice(LAST)}")),
            (("姓名", "c4"), _filled(chance, ("王伟", "李娜", "張敏"))),
        ],
        "B": [
            (("zip", "ZIPCODE", "plz", "x2", "VAR00004"), _filled(chance, ZIPS)),
            (("zip", "postcode", "v9"), _each(lambda: f"[{chance.randint(10000, 20000)}, {chance.randint(20001, 30000)}]")),
            (("postal_code", "k3"), _filled(chance, ("SW1A 1AA", "K1A 0B6", "EC1V 9LB"))),
            (("zip5", "z"), _filled(chance, ("0213*", "0214*", "9021*"))),
            (("city", "town", "wohnort", "V17"), _filled(chance, TOWNS)),
            (("county", "fips", "F2A"), _each(lambda: _digits(chance, 5))),
            (("address", "home", "col5"), _filled(chance, STREETS)),
            (("lat", "coord_y", "n1"), _each(lambda: f"{chance.uniform(40, 55):.4f}")),
            (("census_tract", "tr"), _each(lambda: f"{_digits(chance, 4)}.{two(99)}")),
            (("village", "villnum", "cluster", "h6"), _each(lambda: str(chance.randint(1, 9)))),
            (("hospital", "site", "ward", "u2"), _filled(chance, ("St. Mary", "General", "City Clinic"))),
        ],
        "C": [
            (("birth_date", "admitted", "dt", "x3"), _each(lambda: f"{days()}-{two(12)}-{two(28)}")),
            (("geburtsdatum", "seen", "V8"), _each(lambda: f"{two(28)}.{two(12)}.{days()}")),
            (("visit", "d1"), _each(lambda: f"{two(12)}/{two(28)}/{days() % 100:02}")),
            (("admission_month", "mon", "b2"), _filled(chance, ("March 2021", "Apr 2021", "mai 2020"))),
            (("date", "day", "x4"), _each(lambda: f"{days()}{two(12)}{two(28)}")),
            (("discharge", "quarter", "p2"), _filled(chance, ("2020-Q1", "2020-Q3", "2021-Q4"))),
            (("admission_date", "when"), _each(lambda: f"[{days()}-{two(12)}, 2025-{two(12)}]")),
            (("age", "alter", "x5", "V2"), _filled(chance, ("91", "93", "97", "54"))),
            (("age", "patient_age", "eta"), _filled(chance, ("[85, 95]", "[20, 60]", "[61, 97]"))),
            (("age_group", "agegrp"), _filled(chance, ("80-84", "85-94", "95+"))),
            (("age", "edad"), _filled(chance, ("≥95", "[20, 40]", "92.5"))),
            (("age_years", "leeftijd"), _filled(chance, ("ninety-one", "91 years", "93y"))),
            (("birth_year", "yob", "geburtsjahr", "x6"), _filled(chance, ("1921", "1930", "1935"))),
            (("birth_year", "year_of_birth"), _filled(chance, ("[1920, 1950]", "[1951, 1990]"))),
            (("weekday", "wd"), _filled(chance, ("Monday", "Tuesday", "friday"))),
            (("month", "m1"), _each(lambda: str(chance.randint(1, 12)))),
            (("admission", "ts"), _each(lambda: str(chance.randint(1_500_000_000, 1_700_000_000)))),
        ],
        "D": [
            (("phone", "Tel", "contact", "x7"), _each(lambda: f"+49 228 {_digits(chance, 6)}")),
            (("mobile", "telefon", "V21"), _each(lambda: f"({_digits(chance, 3)}) 555-{_digits(chance, 4)}")),
            (("phone_number", "y2"), _each(lambda: _digits(chance, 10))),
            (("telephone", "l8"), _each(lambda: f"{_digits(chance, 3)}.{_digits(chance, 3)}.{_digits(chance, 4)}")),
            (("call", "t9"), _each(lambda: f"555.{_digits(chance, 4)}")),
        ],
        "E": [(("fax", "FaxNo", "telefax", "x8"), _each(lambda: f"0228/{_digits(chance, 6)}"))],
        "F": [
            (("email", "E-Mail", "contact", "x9"), _each(lambda: f"{chance.choice(LAST[:2]).lower()}{_digits(chance, 2)}@example.org")),
            (("mail", "V30"), _each(lambda: f"a{_digits(chance, 3)} (at) example.com")),
            (("correo", "w4"), _each(lambda: f"B.{_digits(chance, 2)}@KLINIK.DE")),
        ],
        "G": [
            (("ssn", "SocSec", "x10"), _each(lambda: f"{_digits(chance, 3)}-{_digits(chance, 2)}-{_digits(chance, 4)}")),
            (("social_security", "V31"), _each(lambda: _digits(chance, 9))),
            (("ssn4", "last4", "s4"), _each(lambda: _digits(chance, 4))),
            (("codice_fiscale", "cf"), _each(lambda: f"RSSMRA{_digits(chance, 2)}A{_digits(chance, 2)}H{_digits(chance, 3)}Z")),
        ],
        "H": [
            (("mrn", "MedRecNo", "x11"), _each(lambda: _digits(chance, 7))),
            (("patient_id", "pat_nr", "V1"), [str(place + 1) for place in range(ROWS)]),
            (("chart_number", "g3"), _each(lambda: f"A-{_digits(chance, 5)}")),
        ],
        "I": [
            (("member_id", "health_plan", "x12"), _each(lambda: f"HP{_digits(chance, 8)}")),
            (("versichertennummer", "kvnr"), _each(lambda: f"T{_digits(chance, 9)}")),
            (("medicare_number", "mbi"), _each(lambda: f"1EG4-TE5-MK{_digits(chance, 2)}")),
        ],
        "J": [
            (("account", "kontonummer", "x13"), _each(lambda: _digits(chance, 10))),
            (("iban", "bank"), _filled(chance, ("DE89370400440532013000", "GB82 WEST 1234 5698 7654 32"))),
            (("card", "cc_no"), _filled(chance, ("4111 1111 1111 1111", "5500-0000-0000-0004"))),
        ],
        "K": [
            (("license_number", "x14"), _each(lambda: f"D{_digits(chance, 7)}")),
            (("passport", "reisepass", "pp"), _each(lambda: f"C01X{_digits(chance, 5)}")),
            (("certificate_no", "crt"), _each(lambda: f"{two(99)}/{_digits(chance, 4)}")),
        ],
        "L": [
            (("license_plate", "kennzeichen", "x15"), _each(lambda: f"BN-{chance.choice('ABC')}X {_digits(chance, 3)}")),
            (("vin", "vehicle"), _each(lambda: f"1HGCM82633A{_digits(chance, 6)}")),
        ],
        "M": [
            (("device_id", "serial_no", "x16"), _each(lambda: f"SN-{_digits(chance, 8)}")),
            (("imei", "implant"), _each(lambda: _digits(chance, 15))),
            (("mac", "dev"), _each(lambda: ":".join(f"{chance.randint(0, 255):02x}" for _ in range(6)))),
        ],
        "N": [
            (("url", "homepage", "x17"), _each(lambda: f"https://example.org/{_digits(chance, 4)}")),
            (("web", "link"), _each(lambda: f"www.clinic{_digits(chance, 2)}.example")),
            (("profile", "fb"), _each(lambda: f"facebook.com/u{_digits(chance, 5)}")),
        ],
        "O": [
            (("ip", "IPAddress", "x18"), _each(lambda: ".".join(str(chance.randint(1, 254)) for _ in range(4)))),
            (("host", "v6"), _each(lambda: f"2001:db8::{chance.randint(1, 9999):x}")),
            (("ip_address", "net"), _each(lambda: f"10.0.{chance.randint(0, 255)}.*")),
        ],
        "P": [
            (("fingerprint", "x19"), _each(lambda: _digits(chance, 12) + "aa")),
            (("voice_print", "bio"), _each(lambda: f"{chance.random():.12f}")),
            (("iris_code", "ir"), _each(lambda: "".join(chance.choice("0123456789abcdef") for _ in range(32)))),
        ],
        "Q": [
            (("photo", "x20"), _each(lambda: f"img_{_digits(chance, 4)}.jpg")),
            (("portrait", "pic"), _each(lambda: f"data:image/png;base64,iVBORw0KGgo{_digits(chance, 6)}")),
        ],
        "R": [
            (("uuid", "x21"), _each(lambda: f"{_digits(chance, 8)}-1111-4111-8111-{_digits(chance, 12)}")),
            (("token", "hash"), _each(lambda: "".join(chance.choice("0123456789abcdef") for _ in range(40)))),
            (("id", "subject", "rownr", "V0"), [str(place + 100) for place in range(ROWS)]),
            (("notes", "bemerkung", "txt"), _each(lambda: " ".join(chance.choice(WORDS) for _ in range(9)))),
            (("barcode", "sample"), _each(lambda: f"B{_digits(chance, 6)}K")),
        ],
    }  # fmt: skip


def ordinary(chance: Random) -> dict[str, Cells]:
    """Return harmless columns with names that say what they are."""

    def low(bottom: int, top: int) -> str:
        return str(chance.randint(bottom, top))

    columns = {
        "sex": _filled(chance, ("female", "male")),
        "age": _filled(chance, ("[20, 35]", "[36, 60]", "[61, 89]", "≥90")),
        "systolic": _each(lambda: low(95, 180)),
        "ldl_mg_dl": _each(lambda: f"{chance.uniform(60, 190):.1f}"),
        "bmi": _each(lambda: f"[{chance.randint(18, 24)}, {chance.randint(25, 40)}]"),
        "smoker": _filled(chance, ("yes", "no")),
        "diagnosis": _filled(chance, ("influenza", "asthma", "gastritis", "diabetes")),
        "length_of_stay": _each(lambda: low(0, 30)),
        "admission_year": _filled(chance, ("2019", "2020", "[2021, 2023]")),
        "state": _filled(chance, ("CA", "NY", "TX")),
        "marital_status": _filled(chance, ("married", "single", "divorced")),
        "number_of_children": _each(lambda: low(0, 4)),
        "glucose": ["k.A.", *(low(60, 300) for _ in range(ROWS - 1))],
        "income": _each(lambda: low(9_000, 99_000)),
        "race": _filled(chance, ("White", "Black", "Asian")),
        "apgar_score": _each(lambda: low(3, 10)),
        "icd10": _filled(chance, ("J10", "K29.1", "E11")),
        "Gewicht_kg": _each(lambda: low(45, 120)),
        "education": _filled(chance, ("primary school", "high school", "university")),
        "hba1c": _each(lambda: f"{chance.uniform(4, 12):.1f}"),
    }
    names = sorted(columns)
    return {name: columns[name] for name in chance.sample(names, chance.randint(2, 6))}


def _planted() -> Iterator[PlantedTable]:
    chance = Random(25)
    for letter, kinds in identifiers(chance).items():
        for kind, (names, values) in enumerate(kinds):
            for place, (spelling, cells) in enumerate(spellings(values, chance)):
                name = names[place % len(names)]
                beside = {other: values for other, values in ordinary(chance).items() if other != name}
                yield PlantedTable(f"{letter}{kind}-{name}-{spelling}", {**beside, name: cells}, frozenset(letter))


def _harmless() -> Iterator[PlantedTable]:
    chance = Random(52)
    for number in range(24):
        yield PlantedTable(f"harmless-{number}", ordinary(chance), frozenset())


def _doubtful() -> Iterator[PlantedTable]:
    """Tables with columns that a person must judge: no answer but "not decided" is right for the doubtful letters."""
    chance = Random(7)
    three = _filled(chance, ("021", "902", "*"))
    yield PlantedTable("zip3", {**ordinary(chance), "zip": three}, frozenset(), frozenset("B"))
    yield PlantedTable("zip3-stars", {"zip": _filled(chance, ("021**", "902**"))}, frozenset(), frozenset("B"))
    yield PlantedTable("region", {"region": _filled(chance, ("north", "south"))}, frozenset(), frozenset("B"))
    numbers = _each(lambda: str(chance.randint(1, 40)))
    yield PlantedTable("nameless", {"V4": numbers}, frozenset(), frozenset("BCHIJKLMR"))
    yield PlantedTable("0/1", {"V5": _filled(chance, ("0", "1"))}, frozenset(), frozenset("BCHIJKLMR"))


def tables() -> list[PlantedTable]:
    """Return all tables, always the same."""
    return [*_planted(), *_harmless(), *_doubtful()]


def open_tables() -> list[PlantedTable]:
    """Return the half that was looked at while the rules were written."""
    return tables()[::2]


def held_back() -> list[PlantedTable]:
    """Return the half that was not."""
    return tables()[1::2]


def families_made_after() -> list[PlantedTable]:
    """Return tables of kinds that were made after the rules were written, and that no rule was changed for."""
    chance = Random(99)
    letters = "abcdefghijklmnopqrstuvwxyz"

    def word() -> str:
        return "".join(chance.choice(letters) for _ in range(7)).title()

    kinds: list[tuple[str, str, Cells]] = [
        ("A", "mother", _each(word)),
        ("A", "next_of_kin", _each(lambda: f"{word()}, {word()}")),
        ("A", "employer", _each(lambda: f"{word()} GmbH")),
        ("A", "spouse", _filled(chance, ("Low", "High", "Young"))),
        ("B", "commune_code", _each(lambda: _digits(chance, 3))),
        ("B", "plus_code", _each(lambda: f"9F46{_digits(chance, 2)}X+{_digits(chance, 2)}")),
        ("B", "easting", _each(lambda: f"{_digits(chance, 6)}.5")),
        ("B", "birthplace", _filled(chance, ("Rome", "Kyiv"))),
        ("B", "zip_range", _filled(chance, ("021xx", "02139-02141"))),
        ("B", "hrr", _each(lambda: str(chance.randint(1, 457)))),
        ("C", "age_months", _each(lambda: str(chance.randint(1090, 1200)))),
        ("C", "max_age", _filled(chance, ("[30, 104]", "[5, 20]"))),
        ("C", "yr", _filled(chance, ("1912", "1933"))),
        ("C", "year", _filled(chance, ("[1900, 1936]", "[1937, 2000]"))),
        ("C", "dob_year", _filled(chance, ("1929", "1934"))),
        ("C", "excel_date", _each(lambda: str(chance.randint(40_000, 45_000)))),
        ("C", "date_of_death", _filled(chance, ("1 May", "2nd of June", "Dec 24"))),
        ("C", "hour_admitted", _filled(chance, ("14:30", "02:15"))),
        ("C", "iso_week", _filled(chance, ("2023-W07", "2023-W51"))),
        ("C", "julian", _each(lambda: f"2023{chance.randint(1, 365):03}")),
        ("D", "emergency_contact", _each(lambda: f"0{_digits(chance, 3)} {_digits(chance, 6)}")),
        ("D", "callback", _each(lambda: f"{_digits(chance, 3)} {_digits(chance, 4)}")),
        ("E", "facsimile", _each(lambda: f"1-{_digits(chance, 3)}-{_digits(chance, 3)}-{_digits(chance, 4)}")),
        ("F", "login", _each(lambda: f"{word().lower()}＠mail.example")),
        ("F", "reply_to", _each(lambda: f"<{word()}@{word()}.org>")),
        ("G", "sin", _each(lambda: f"{_digits(chance, 3)} {_digits(chance, 3)} {_digits(chance, 3)}")),
        ("G", "taxpayer", _each(lambda: f"{_digits(chance, 2)}-{_digits(chance, 7)}")),
        ("H", "record", _each(lambda: _digits(chance, 5))),
        ("H", "case_no", _each(lambda: f"{chance.randint(1, 999)}/23")),
        ("I", "group_policy", _each(lambda: _digits(chance, 6))),
        ("J", "sort_code", _each(lambda: f"{_digits(chance, 2)}-{_digits(chance, 2)}-{_digits(chance, 2)}")),
        ("J", "customer", _each(lambda: _digits(chance, 8))),
        ("K", "dea", _each(lambda: f"AB{_digits(chance, 7)}")),
        ("K", "permit", _each(lambda: _digits(chance, 4))),
        ("L", "car", _each(lambda: f"{chance.choice('KLM')}-{word()[:2].upper()} {_digits(chance, 2)}")),
        ("L", "registration", _each(lambda: f"{_digits(chance, 1)}ABC{_digits(chance, 3)}")),
        ("M", "pump", _each(lambda: f"{_digits(chance, 3)}.{_digits(chance, 2)}")),
        ("M", "lot", _each(lambda: f"L{_digits(chance, 3)}")),
        ("N", "blog", _each(lambda: f"{word().lower()}.example")),
        ("N", "ftp", _each(lambda: f"ftp://h{_digits(chance, 2)}")),
        ("O", "client", _each(lambda: str(chance.randint(3_232_235_000, 3_232_239_999)))),
        ("O", "addr", _each(lambda: f"fe80::{_digits(chance, 4)}")),
        ("P", "gait", _each(lambda: f"{chance.random():.9f}")),
        ("P", "hla", _each(lambda: f"A*{_digits(chance, 2)}:01,B*{_digits(chance, 2)}:02")),
        ("Q", "scan", _each(lambda: f"/data/faces/{_digits(chance, 5)}")),
        ("Q", "face", _each(lambda: f"{_digits(chance, 5)}.heic")),
        ("R", "sample_id", _each(lambda: _digits(chance, 6))),
        ("R", "trial_arm_key", _each(lambda: f"{word()}{_digits(chance, 2)}")),
        ("R", "rare_job", _filled(chance, ("mayor of the town", "bishop", "nurse"))),
    ]
    made = [
        PlantedTable(f"after-{letter}-{name}", {**ordinary(chance), name: cells}, frozenset(letter))
        for letter, name, cells in kinds
    ]
    return [*made, *_everyday(chance)]


def _everyday(chance: Random) -> Iterator[PlantedTable]:
    """Yield ordinary tables whose names and cells say less: no identifier is in them."""
    columns = {
        "tumor_size": _each(lambda: f"{chance.uniform(1, 60):.0f}"),
        "nodes": _each(lambda: str(chance.randint(0, 20))),
        "horTh": _filled(chance, ("yes", "no")),
        "occupation": _filled(chance, ("teacher", "farmer", "clerk")),
        "edss": _each(lambda: f"{chance.randint(0, 19) / 2}"),
        "thal": _filled(chance, ("fixed defect", "reversible defect", "normal")),
        "q12": _each(lambda: str(chance.randint(1, 5))),
        "cholesterol": _each(lambda: str(chance.randint(120, 320))),
        "oldpeak": _each(lambda: f"{chance.uniform(0, 6):.1f}"),
        "insurance": _filled(chance, ("public", "private")),
        "smoking_status": _filled(chance, ("never", "former", "current")),
        "hours_per_week": _each(lambda: str(chance.randint(1, 80))),
    }
    names = sorted(columns)
    for number in range(16):
        yield PlantedTable(f"everyday-{number}", {name: columns[name] for name in chance.sample(names, 4)}, frozenset())
