"""What names say, in several languages; a name that can mislead is weighed against the counts."""

from __future__ import annotations

import pytest

from tclose.policy.draft.profile import ColumnProfile, NumberLook
from tclose.policy.draft.roles import fitness_as_person, role_of

TEXT = {"missing": 0, "kind": "text", "rows": 400, "distinct": 40, "longest": 9}
CODE = {"missing": 0, "kind": "number", "rows": 400, "distinct": 390, "own": 390, "longest": 6}
LEVELS = {"missing": 0, "kind": "number", "rows": 400, "distinct": 6, "longest": 1}
AMOUNT = {"missing": 0, "kind": "number", "rows": 400, "distinct": 380, "own": 380, "longest": 7}


def role(name: str, **facts: object) -> str:
    numbers = NumberLook(whole=True, as_ranges={"step": 4}) if facts["kind"] == "number" else None
    return role_of(ColumnProfile(name=name, numbers=numbers, **facts)).role  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name",
    [
        "Name", "First Name", "surname", "lastName", "patient_name", "Username", "Name of the patient",
        "Vorname", "Nachname", "Name des Patienten", "Geburtsname", "Straße", "STRASSE", "Anschrift", "Hausnummer",
        "prénom", "Nom", "nom_de_famille", "courriel", "Apellidos", "nombre", "Dirección", "correo electrónico",
        "nome", "Cognome", "nome_paziente", "indirizzo", "voornaam", "Achternaam", "huisnummer", "Straatnaam",
        "sobrenome", "endereço", "telemóvel", "imię", "Nazwisko", "ulica", "förnamn", "etternavn", "sukunimi",
        "příjmení", "Фамилия", "телефон", "姓名", "氏名", "电话", "e-mail", "EMail", "user_email", "Telefon",
        "phoneNumber", "Tel.", "Handy", "Fax", "home address", "website",
    ],
)  # fmt: skip
def test_names_and_addresses_of_people_in_many_languages(name: str) -> None:
    assert role(name, **TEXT) == "identifier"


@pytest.mark.parametrize(
    "name",
    [
        "SSN", "social security number", "National Insurance", "Sozialversicherungsnummer", "SVNR", "Steuer-ID",
        "numéro de sécurité sociale", "NIR", "DNI", "codice fiscale", "BSN", "CPF", "PESEL", "personnummer", "IBAN",
        "Kontonummer", "account_number", "passport", "Pasaporte", "Reisepass", "MRN", "IMEI", "IP", "uuid",
        "id", "ID", "pid", "patientId", "PatientID", "case.id", "row_id", "UTILITYID", "identifiant", "Kennung",
        "Patientennummer", "Pat.-Nr.", "Kundennr", "case", "Fallnummer", "account no", "number", "record",
        "Aktenzeichen", "folio", "expediente",
        "N° patient", "numero_cliente", "numer pacjenta", "Rechnungsnummer", "district",
    ],
)  # fmt: skip
def test_numbers_of_persons_and_rows_in_many_languages(name: str) -> None:
    assert role(name, **CODE) == "identifier"


@pytest.mark.parametrize(
    "name",
    [
        "number of children", "numberOfVisits", "Anzahl Kinder", "n_visits", "num_kids", "número de hijos",
        "aantal", "count", "case", "nr", "no", "code", "hospital_id", "clinic", "phone", "email", "group_no",
    ],
)  # fmt: skip
def test_counts_groups_and_answers_are_no_identifiers(name: str) -> None:
    answers = {**LEVELS, "distinct": 2} if name in ("phone", "email") else LEVELS
    assert role(name, **answers) == "quasi"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Einkommen", "sensitive"), ("salaire", "sensitive"), ("sueldo", "sensitive"), ("reddito", "sensitive"),
        ("inkomen", "sensitive"), ("Bruttogehalt", "sensitive"), ("total_income", "sensitive"), ("pensja", "sensitive"),
        ("FEDTAX", "sensitive"), ("Blutdruck", "sensitive"), ("Körpergewicht", "sensitive"),
        ("account balance", "sensitive"),
        ("Alter", "quasi"), ("edad", "quasi"), ("leeftijd", "quasi"), ("wiek", "quasi"), ("idade", "quasi"),
        ("PLZ", "quasi"), ("code postal", "quasi"), ("Breitengrad/lat", "quasi"), ("school", "quasi"),
        ("Längengrad", "quasi"), ("longitud", "quasi"), ("cp", "quasi"),
    ],
)  # fmt: skip
def test_sensitive_and_known_in_many_languages(name: str, expected: str) -> None:
    facts = {**AMOUNT, "distinct": 100, "own": 0} if name == "school" else AMOUNT
    if name == "account balance":
        facts = {**facts, "distinct": 150}
    assert role(name, **facts) == expected


@pytest.mark.parametrize(
    ("name", "facts", "serves"),
    [
        ("patient_id", {"distinct": 200}, True),
        ("id", {"distinct": 399}, True),
        ("id", {"distinct": 400}, False),  # each row is another person
        ("subject", {"distinct": 40}, True),
        ("hospital_id", {"distinct": 200}, False),
        ("household_id", {"distinct": 200}, False),  # a family is not a person
        ("id", {"distinct": 4}, False),  # so few number groups
    ],
)
def test_an_identifier_that_repeats_serves_as_person(name: str, facts: dict[str, int], serves: bool) -> None:
    column = ColumnProfile(name=name, kind="number", rows=400, missing=0, numbers=NumberLook(whole=True), **facts)  # type: ignore[arg-type]
    assert (fitness_as_person(column) > 0) is serves


@pytest.mark.parametrize("name", ["dx", "ICD10", "diagnosis"])
def test_a_few_levels_can_be_a_diagnosis(name: str) -> None:
    assert role(name, **LEVELS) == "sensitive"
