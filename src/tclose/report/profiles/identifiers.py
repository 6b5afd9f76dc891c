"""The 18 identifiers of the HIPAA Safe Harbor, and which columns of a release look like which of them.

A column is known by its name and by the look of its values, as in a draft (`policy/draft/`), and by what the release
publishes of it: three digits of a ZIP code, a year, an age of 90 or older. What is in doubt asks for a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tclose.policy.draft import Profile, names
from tclose.policy.draft.roles import FEW_LEVELS, role_of

AGE = re.compile("_aged?_|_ages_|_alter_|_edad_|_eta_|leeftijd|idade|_wiek_|_alder_")
DATE = re.compile("_date|date_|datum|_dob_|_datetime_|timestamp|_fecha|_data_(?:di|de)_|birthday|geburtstag")
DATES = re.compile(r"\d{4}-(?:\d{2}|Q\d)")  # finer than a year
NUMBERS = re.compile(r"(≥?)(\d+(?:\.\d+)?)")
OLDEST = 89
ZIP_DIGITS = 3
NOTHING = frozenset({"*", "", "missing"})  # published texts that say nothing
VAGUE = re.compile("region|_area_|_place_|location|_site_|hospital|clinic|_ward_|_school_|birthplace|_origin_")
FREE_TEXT = "free text can name people"


@dataclass(frozen=True)
class Identifier:
    """One of the 18 identifiers: its letter, its name, and the names and shapes of columns that hold it."""

    letter: str
    title: str
    name: re.Pattern[str]
    shapes: frozenset[str] = frozenset()


def _one(letter: str, title: str, patterns: str, *shapes: str) -> Identifier:
    return Identifier(letter, title, re.compile("|".join(patterns.split())), frozenset(shapes))


IDENTIFIERS = (
    _one(
        "A",
        "Names",
        "^_names?_$ (?:first|last|full|sur|fore|given|family|nick|user|maiden|middle|display|legal)_?name _initials_"
        " (?:patient|person|client|member|mother|father|doctor|physician|employer)s?_?name vorname nachname zuname"
        " familienname geburtsname prenom _nom_de_famille ^_noms?_$ apellido ^_nombres?_$ cognome ^_nome_$ voornaam"
        " achternaam sobrenome apelido _imie_ nazwisko fornavn efternavn etunimi sukunimi",
        "person",
    ),
    _one(
        "B",
        "Geographic subdivisions smaller than a state",
        "_zip postal_?code post_?code _plz_ postleitzahl code_postal codigo_postal _cep_ kod_pocztowy address street"
        " anschrift strasse adress[eao]?_ direccion domicilio indirizzo endereco _morada_ _ulica _city_ _cities_ _town"
        " _county_ district precinct village municipal neighbou?rhood census_?tract _tract_ _lat_ _lon_ _lng_ latitud"
        " longitud coordinat geocode geohash _ort_ stadt wohnort gemeinde landkreis _ville_ commune ciudad municipio"
        " citta _comune_ woonplaats gemeente cidade miasto gmina powiat",
        "street",
        "coordinates",
    ),
    _one("C", "Dates finer than a year, and ages over 89", DATE.pattern, "dates"),
    _one(
        "D",
        "Telephone numbers",
        "phone telefon telefoon telephon _tel_ _tlf_ _mobile_ _mobil_ _handy cellulare celular _movil_ telemovel",
        "phone",
    ),
    _one("E", "Fax numbers", "_fax"),
    _one(
        "F",
        "E-mail addresses",
        "_mails?_ e_?mail mail_?(?:address|adresse) courriel _correo _posta_elettronica",
        "email",
        "contact",
    ),
    _one(
        "G",
        "Social security numbers",
        "_ssn_ social_(?:security|insurance) sozialversicherung _svnr_ rentenversicherung securite_sociale _nir_"
        " seguridad_social codice_fiscale codfisc _bsn_ burgerservice _cpf_ _pesel_ personnummer _cpr_ henkilotunnus"
        " _dni_ _nif_ _nino_ national_(?:insurance|id)",
        "official",
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
        "iban",
        "card",
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
    _one("M", "Device identifiers and serial numbers", "device serial_? _imei_ _imsi_ implant _udi_ mac_addr", "mac"),
    _one("N", "Web addresses (URLs)", "_urls?_ website homepage web_?(?:site|page|address) facebook linkedin", "url"),
    _one("O", "Internet (IP) addresses", "_ip_ ip_?addr _ipv[46]_", "ip"),
    _one(
        "P",
        "Biometric identifiers",
        "biometr finger_?print voice_?print retina iris_(?:scan|code) face_?(?:id|print) palm_?print _dna_ genom",
    ),
    _one("Q", "Photographs of the full face", "photo _foto_ portrait picture (?:face|patient)_?image passbild"),
    _one(
        "R", "Any other unique number, characteristic or code", "uuid _guid_ pseudonym _token_ cookie", "uuid", "hash"
    ),
)
BY_LETTER = {identifier.letter: identifier for identifier in IDENTIFIERS}


@dataclass(frozen=True)
class PublishedColumn:
    """A column of the release: what its values look like in the original, and the texts that are published."""

    look: Profile
    texts: Sequence[str]
    identifier: bool = False  # whether the policy names it as an identifier: then it is a pseudonym


@dataclass(frozen=True)
class HarborFinding:
    """One of the 18 identifiers in a release: the columns that hold it, and those that may, each with the reason."""

    identifier: Identifier
    present: tuple[tuple[str, str], ...] = ()
    unclear: tuple[tuple[str, str], ...] = ()


def safe_harbor(columns: Iterable[PublishedColumn]) -> tuple[HarborFinding, ...]:
    """Look for each of the 18 identifiers in the columns of a release."""
    present: dict[str, list[tuple[str, str]]] = {identifier.letter: [] for identifier in IDENTIFIERS}
    unclear: dict[str, list[tuple[str, str]]] = {identifier.letter: [] for identifier in IDENTIFIERS}
    for column in columns:
        for letter, why, sure in _findings(column):
            (present if sure else unclear)[letter].append((column.look.name, why))
    return tuple(
        HarborFinding(identifier, tuple(present[identifier.letter]), tuple(unclear[identifier.letter]))
        for identifier in IDENTIFIERS
    )


def _findings(column: PublishedColumn) -> Iterator[tuple[str, str, bool]]:
    """Yield what a column holds: the letter, why, and whether that is sure."""
    if set(column.texts) <= NOTHING or _is_answer(column.look):
        return
    name, found = names.words(column.look.name), False
    for letter, why, sure in (*_geographic(column, name), *_dates(column, name), *_ages(column, name)):
        yield letter, why, sure
        found = True
    for identifier in IDENTIFIERS:
        if identifier.letter not in "BC" and (reason := _looks_like(identifier, column.look, name)):
            yield identifier.letter, reason, True
            found = True
    if not found:
        yield from _others(column, name)


def _is_answer(look: Profile) -> bool:
    """Tell whether the values rather say if there is a phone than its number."""
    return look.shape == "answer" or look.kind == "boolean" or (look.kind == "number" and look.distinct <= 2)


def _looks_like(identifier: Identifier, look: Profile, name: str) -> str | None:
    if identifier.name.search(name):
        return "by its name"
    return "by the look of its values" if look.shape in identifier.shapes else None


def _geographic(column: PublishedColumn, name: str) -> Iterator[tuple[str, str, bool]]:
    if names.POSTCODE.search(name):
        digits = max((len(run) for text in column.texts for run in re.findall(r"[0-9]+", text)), default=0)
        letters = any(re.search("[A-Za-z]", text) for text in column.texts if text not in NOTHING)
        if digits > ZIP_DIGITS or (letters and not digits):
            yield "B", f"more than {ZIP_DIGITS} digits of a postal code", True
        else:
            yield "B", f"{digits} digits of a postal code: do more than 20,000 people live in each area?", False
    elif reason := _looks_like(BY_LETTER["B"], column.look, name):
        yield "B", reason, True
    elif VAGUE.search(name):
        yield "B", "its name can mean a place", False


def _dates(column: PublishedColumn, name: str) -> Iterator[tuple[str, str, bool]]:
    numbers = column.look.numbers
    dated = column.look.kind == "date" or (numbers is not None and numbers.days)
    if dated or _looks_like(BY_LETTER["C"], column.look, name):
        finer = column.look.kind != "date" or any(DATES.search(text) for text in column.texts)
        year = column.look.kind == "number" and not dated
        if finer and not year:
            yield "C", "dates finer than a year", True
    if (names.BIRTH.search(name) or "_dob_" in name) and not any(DATES.search(text) for text in column.texts):
        yield "C", "a year of birth can show an age over 89", False


def _ages(column: PublishedColumn, name: str) -> Iterator[tuple[str, str, bool]]:
    if not AGE.search(name) or column.look.kind != "number":
        return
    ends = (found for text in column.texts for found in NUMBERS.findall(text))
    if any(float(number) > OLDEST and (not mark or float(number) > OLDEST + 1) for mark, number in ends):
        yield "C", "ages over 89: set top = 90", True


def _others(column: PublishedColumn, name: str) -> Iterator[tuple[str, str, bool]]:
    if column.identifier:
        yield "R", "a pseudonym of an identifier", True
    elif column.look.shape == "prose" or (names.FREE_TEXT.search(name) and column.look.distinct > FEW_LEVELS):
        yield "R", FREE_TEXT, False
    else:
        reason = role_of(column.look)
        if reason.role == "identifier":
            yield "R", reason.why, False
