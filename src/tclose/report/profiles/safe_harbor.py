"""The 18 identifiers of the HIPAA Safe Harbor, and which of them a published column holds.

The answer is yes, no, or a person must say. Three kinds of evidence, in this order:

1. Cells that can be nothing else (an e-mail address), or a name and cells that agree (`zip` and five digits): held.
2. A column that is understood (`columns.py`), or whose cells leave no room for the identifier: not held.
3. Everything else is not decided. A name without a meaning, or one cell that is not understood, is such a case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tclose.policy.draft import patterns
from tclose.report.profiles.columns import (
    COMPACT_DAY,
    MARKS,
    NAMED,
    OLDEST,
    ROOM,
    SIGNS,
    UNMISTAKABLE,
    PublishedColumn,
    digits_of,
    letters_of,
    meaning_of,
    shows_age_over_89,
    years_of,
)
from tclose.types import Answer

# The identifiers, and the names of columns that hold them


@dataclass(frozen=True)
class Identifier:
    """One of the 18 identifiers: its letter, its title, and the names of columns that hold it."""

    letter: str
    title: str
    name: re.Pattern[str]


def _one(letter: str, title: str, patterns: str) -> Identifier:
    return Identifier(letter, title, re.compile("|".join(patterns.split())))


IDENTIFIERS = (
    _one(
        "A",
        "Names",
        "^_names?_$ (?:first|last|full|sur|fore|given|family|nick|user|maiden|middle|display|legal)_?name _initials_"
        " (?:patient|person|client|member|mother|father|doctor|physician|employer)s?_?name vorname nachname zuname"
        " familienname geburtsname prenom _nom_de_famille ^_noms?_$ apellido ^_nombres?_$ cognome ^_nome_$ voornaam"
        " achternaam sobrenome apelido _imie_ nazwisko fornavn efternavn etunimi sukunimi",
    ),
    _one(
        "B",
        "Geographic subdivisions smaller than a state",
        "_zip postal_?code post_?code _plz_ postleitzahl code_postal codigo_postal _cep_ kod_pocztowy address street"
        " anschrift strasse adress[eao]?_ direccion domicilio indirizzo endereco _morada_ _ulica _city_ _cities_ _town"
        " _county_ district precinct village municipal neighbou?rhood census_?tract _tract_ _lat_ _lon_ _lng_ latitud"
        " longitud coordinat geocode geohash _ort_ stadt wohnort gemeinde landkreis _ville_ commune ciudad municipio"
        " citta _comune_ woonplaats gemeente cidade miasto gmina powiat",
    ),
    _one(
        "C",
        "Dates finer than a year, and ages over 89",
        "_date date_ datum _dob_ _datetime_ timestamp _fecha _data_(?:di|de)_ birthday geburtstag",
    ),
    _one(
        "D",
        "Telephone numbers",
        "phone telefon telefoon telephon _tel_ _tlf_ _mobile_ _mobil_ _handy cellulare celular _movil_ telemovel",
    ),
    _one("E", "Fax numbers", "_fax _telefax _fax_?(?:no|nr|number)"),
    _one(
        "F",
        "E-mail addresses",
        "_mails?_ e_?mail mail_?(?:address|adresse) courriel _correo _posta_elettronica",
    ),
    _one(
        "G",
        "Social security numbers",
        "_ssn_ social_(?:security|insurance) sozialversicherung _svnr_ rentenversicherung securite_sociale _nir_"
        " seguridad_social codice_fiscale codfisc _bsn_ burgerservice _cpf_ _pesel_ personnummer _cpr_ henkilotunnus"
        " _dni_ _nif_ _nino_ national_(?:insurance|id)",
    ),
    _one(
        "H",
        "Medical record numbers",
        "_mrn_ medical_record chart_?(?:number|no|nr|id)_ krankenakte historia_clinica cartella_clinica dossier_medical"
        " (?:patient|encounter|episode|admission|visit)s?_?(?:id|nr|no|num|number|nummer|key|code)_ _pid_ _nhs_",
    ),
    _one(
        "I",
        "Health plan beneficiary numbers",
        "health_?plan beneficiary (?:member|subscriber|insured|insurance|policy)_?(?:id|nr|no|num|number)_ health_card"
        " medicare_?(?:id|no|nr|number) medicaid_?(?:id|no|nr|number) krankenversicherten versicherten_?n(?:umme)?r"
        " tessera_sanitaria",
    ),
    _one(
        "J",
        "Account numbers",
        "account_?(?:number|num|no|nr|id)?_$ _iban_ kontonummer konton?r_ rekeningnummer conto_corrente"
        " numero_de_(?:cuenta|compte|conta) kreditkarte (?:credit_)?card_?(?:number|num|no|nr)_",
    ),
    _one(
        "K",
        "Certificate and license numbers",
        "licen[cs]e_?(?:number|num|no|nr|id)_ driving_licen driver_?s?_licen certificate_?(?:number|no|nr|id)_ passport"
        " passeport pasaporte passaporto paszport reisepass ausweis fuehrerschein fuhrerschein",
    ),
    _one(
        "L",
        "Vehicle identifiers and license plates",
        "_vin_ vehicle licen[cs]e_?plate number_?plate _plate_ kennzeichen",
    ),
    _one("M", "Device identifiers and serial numbers", "device serial_? _imei_ _imsi_ implant _udi_ mac_addr"),
    _one("N", "Web addresses (URLs)", "_urls?_ website homepage web_?(?:site|page|address) facebook linkedin"),
    _one("O", "Internet (IP) addresses", "_ip_ ip_?addr _ipv[46]_"),
    _one(
        "P",
        "Biometric identifiers",
        "biometr finger_?print voice_?print retina iris_(?:scan|code) face_?(?:id|print) palm_?print _dna_ genom",
    ),
    _one("Q", "Photographs of the full face", "photo _foto_ portrait picture (?:face|patient)_?image passbild"),
    _one("R", "Any other unique number, characteristic or code", "uuid _guid_ pseudonym _token_ cookie"),
)


# What a published column holds


ZIP_DIGITS = 3
FIRST_DIGITS = re.compile(r"[0-9]{1,3}[*xX]*")
POSTCODE = re.compile(r"[0-9]{1,5}[*xX]*|[0-9]{5}-[0-9]{4}|[A-Z]{1,2}[0-9][0-9A-Z]? ?[0-9][A-Z]{2}", re.IGNORECASE)
NAMELESS = "its name and its cells do not say what it shows"
AGREES = "by its name and its cells"
VAGUE_NAME = "its name points to this, its cells do not"
POSTCODES = "do more than 20,000 people live in each area, by the current census?"


@dataclass(frozen=True)
class ColumnFinding:
    """What one column says about one identifier: whether the column is free of it, and why."""

    answer: Answer  # yes: it holds none; no: it holds some
    why: str


@dataclass(frozen=True)
class HarborFinding:
    """One of the 18 identifiers in a release: the columns that hold it, and those that may, each with the reason."""

    identifier: Identifier
    present: tuple[tuple[str, str], ...] = ()
    unclear: tuple[tuple[str, str], ...] = ()

    @property
    def answer(self) -> Answer:
        """Whether the release is free of it."""
        return "no" if self.present else "undecided" if self.unclear else "yes"


def safe_harbor(columns: Sequence[PublishedColumn], year: int) -> tuple[HarborFinding, ...]:
    """Look for each of the 18 identifiers in all columns of a release of some year."""
    answers = {column.name: findings_of(column, year) for column in columns}

    def with_answer(letter: str, answer: Answer) -> tuple[tuple[str, str], ...]:
        found = ((name, each[letter]) for name, each in answers.items())
        return tuple((name, each.why) for name, each in found if each.answer == answer)

    return tuple(
        HarborFinding(each, with_answer(each.letter, "no"), with_answer(each.letter, "undecided"))
        for each in IDENTIFIERS
    )


def findings_of(column: PublishedColumn, year: int) -> dict[str, ColumnFinding]:
    """Say of each identifier whether one column is free of it."""
    if column.pseudonym:
        return _rest({"R": ColumnFinding("no", "pseudonyms of an identifier")}, _free("a pseudonym"))
    if (meaning := meaning_of(column)) is not None:
        return _rest(_of_understood(column, meaning.kind, year), _free(meaning.shows))
    found, covered = _found(column, year)
    return _rest(found, _free("another identifier") if covered else _by_room(column))


def _rest(found: Mapping[str, ColumnFinding], rest: Callable[[str], ColumnFinding]) -> dict[str, ColumnFinding]:
    return {each.letter: found.get(each.letter) or rest(each.letter) for each in IDENTIFIERS}


def _free(why: str) -> Callable[[str], ColumnFinding]:
    return lambda letter: ColumnFinding("yes", why)


def _by_room(column: PublishedColumn) -> Callable[[str], ColumnFinding]:
    """Return what is said of an identifier that nothing points to: its cells may leave no room for it."""

    def finding(letter: str) -> ColumnFinding:
        room = ROOM.get(letter)
        free = room is not None and not room(column)
        return ColumnFinding("yes", "its cells cannot be this") if free else ColumnFinding("undecided", NAMELESS)

    return finding


def _of_understood(column: PublishedColumn, kind: str, year: int) -> dict[str, ColumnFinding]:
    """Compare the ages and the years of an understood column with the rule."""
    if kind == "age" and any(map(shows_age_over_89, column.values)):
        return {"C": ColumnFinding("no", f"ages over {OLDEST}: set top = {OLDEST + 1}")}
    if kind == "year" and any(_shows_old_year(value, year) for value in column.values):
        return {"C": ColumnFinding("no", f"years so long ago that somebody was {OLDEST + 1} in {year}")}
    return {}


def _shows_old_year(value: str, year: int) -> bool:
    """Tell whether a year shows an age over 89 in the year of the release; all older years together may stand."""
    oldest = min(years_of(value) or (0,))
    return oldest <= year - OLDEST - 1 and not (value[0] == "≤" and oldest == year - OLDEST - 1)


def _found(column: PublishedColumn, year: int) -> tuple[dict[str, ColumnFinding], bool]:
    """Return what cells show by themselves or with their name, and whether no cell can be something else.

    A column that holds one identifier is not cleared of the others by that: it can be named wrongly.
    """
    shown = {letter: (what, every) for letter, what, every in _shown(column)}
    found = {letter: ColumnFinding("no", what) for letter, (what, _) in shown.items()}
    for letter, finding in _named(column):
        if letter not in found:
            found[letter] = finding
    place, is_postcode = _place(column)
    if place is not None and "B" not in found:
        found["B"] = place
    return found, is_postcode or any(every and letter in UNMISTAKABLE for letter, (_, every) in shown.items())


def _shown(column: PublishedColumn) -> Iterator[tuple[str, str, bool]]:
    """Yield what cells show by themselves: the letter, what it is, and whether every cell shows it."""
    for letter, signs in SIGNS.items():
        for what, shows in signs.items():
            count = sum(1 for value in column.others if shows(value))
            if count:
                yield letter, what, count == len(column.values)
    if column.numbers and all(map(COMPACT_DAY.fullmatch, column.numbers)):
        yield "C", "dates such as 20240331", column.only_numbers


def _named(column: PublishedColumn) -> Iterator[tuple[str, ColumnFinding]]:
    """Yield what the name of a column says, and whether its cells agree."""
    name = patterns.words(column.name)
    named = [each.letter for each in IDENTIFIERS if each.name.search(name)]
    for letter in named:
        if letter in NAMED:
            agrees = any(map(NAMED[letter], column.values))
            yield letter, ColumnFinding("no", AGREES) if agrees else ColumnFinding("undecided", VAGUE_NAME)
    if patterns.ID.search(name) and any(map(digits_of, column.values)) and not {*named} - {*"ABC"}:
        yield "R", ColumnFinding("no", "its name says that it numbers rows or persons")


def _place(column: PublishedColumn) -> tuple[ColumnFinding | None, bool]:
    """Return what a column says that has the name of a place, and whether all of it are postal codes."""
    name, values = patterns.words(column.name), column.values
    if patterns.POSTCODE.search(name):
        postal = all(map(POSTCODE.fullmatch, values))
        if all(map(FIRST_DIGITS.fullmatch, values)):
            return ColumnFinding("undecided", f"the first digits of a postal code: {POSTCODES}"), postal
        if any(digits_of(value) > ZIP_DIGITS or letters_of(value) for value in values):
            return ColumnFinding("no", f"more than {ZIP_DIGITS} digits of a postal code"), postal
    elif _PLACE.search(name) and not _OTHER_ADDRESS.search(name):
        agrees = any(letters_of(value) >= 2 or _is_number_of_place(value) for value in values)
        return ColumnFinding("no", AGREES) if agrees else ColumnFinding("undecided", VAGUE_NAME), False
    return None, False


_OTHER_ADDRESS = re.compile("(?:ip|mac|web|e?_?mail|internet)_?addr")
_PLACE = next(each.name for each in IDENTIFIERS if each.letter == "B")


def _is_number_of_place(value: str) -> bool:
    return digits_of(value) >= 1 and value.lstrip(MARKS) not in ("0", "1")
