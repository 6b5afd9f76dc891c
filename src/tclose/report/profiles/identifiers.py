"""The 18 identifiers of the HIPAA Safe Harbor, and the names of columns that hold them."""

from __future__ import annotations

import re
from dataclasses import dataclass


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
BY_LETTER = {identifier.letter: identifier for identifier in IDENTIFIERS}
