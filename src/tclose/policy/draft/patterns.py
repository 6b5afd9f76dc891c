"""What the name of a column says about it, and what its texts look like: e-mail addresses, phone numbers, free text.

Patterns for names are in English, German, French, Spanish, Italian, Dutch, Portuguese and Polish, with a few words of
Scandinavian languages, Finnish, Czech, Russian, Chinese and Japanese. Every one is for a name as `words` returns it:
small letters without accents, words between underscores, as in _marital_status_.

Of texts, only a sample of the different values is looked at. The answer is the name of a shape, never a text. Enough
common given names in a column show that it holds names of people; names that are also usual levels or places (max,
carolina, victoria) are left out of the list.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

# Names of columns


OTHER_LETTERS = str.maketrans({"ß": "ss", "ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i"})


def words(name: str) -> str:
    """Return the words of a name as the patterns want them.

    >>> words("HomeRooms"), words("marital-status"), words("Race1"), words("Straße"), words("PatientID")
    ('_home_rooms_', '_marital_status_', '_race_', '_strasse_', '_patient_id_')
    """
    parted = re.sub(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    plain = unicodedata.normalize("NFKD", parted.translate(OTHER_LETTERS))
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return "_" + re.sub(r"[\W\d_]+", "_", letters).strip("_") + "_"


def _alternatives(*lists: str) -> str:
    return "|".join(pattern for each in lists for pattern in each.split())


def _any(*lists: str) -> re.Pattern[str]:
    """Compile lists of patterns, separated by spaces, of which one must be found."""
    return re.compile(_alternatives(*lists))


PERSONS = _alternatives(
    "patients? pat probands? persons? people customers? clients? users? members? subjects? subj students? pupils?",
    "employees? staff respondents? participants? insured volunteers? donors? workers? individuals?",
    "patienten kunden? mitarbeiter versicherten? teilnehmer mitglieds? schueler schuler personen klienten",  # German
    "personnes? individus? salaries? eleves?",  # French
    "clientes? pacientes? personas? empleados? alumnos? usuarios?",  # Spanish
    "pazient[ei] client[ei] utent[ei] dipendent[ei] persone",  # Italian
    "klant(?:en)? medewerkers? personen",  # Dutch
    "pessoas? utentes? funcionarios?",  # Portuguese
    "pacjent[ayow]* klient[ayow]* osob[ay]? pracownik[ao]?",  # Polish
)
PERSON = _alternatives(  # alone, as the name of a column; the plural is rather a count
    "patient pat proband person child kind enfant nino bambino customer client user member subject subj student pupil",
    "employee respondent participant",
    "individual volunteer donor worker kunde mitarbeiter teilnehmer mitglied schueler schuler personne individu eleve",
    "cliente paciente persona empleado alumno usuario paziente utente dipendente klant medewerker",
    "pessoa pacjent klient",
    "osoba pracownik",
)
FAMILIES = _alternatives(
    "household family haushalt familie menage famille hogar familia famiglia huishouden gezin rodzina"
)
GROUPS = _alternatives(  # what is numbered is no person
    "hospitals? clinics? klinik cent(?:er|re)s? zentrum sites? wards? station schools? schule class(?:room)? klasse",
    "teachers? doctors? arzt physicians? providers? stores? shops? branch filiale plants? firms? company companies",
    "departments? dept abteilung units? products? items? batch lots? study studies trials? region",
    "district county state",
    "country city block clusters? stratum strata psu teams? groups? village province municipality sections? sectors?",
    "industry occupation job species category type status sex gender race ethnic(?:ity)? visits? events? episode wave",
)

# People's names, and where they can be reached.
PERSONAL = _any(
    "",
    "^_names?_$ (?:first|last|full|sur|fore|given|family|nick|user|maiden|middle|display|legal|login)_?name",
    "_initials_$",
    rf"(?:{PERSONS})_?(?:name|naam|nom|nome|nombre|nazwisko)_",
    rf"_(?:name|naam|nom|nome|nombre)_(?:(?:of|van|d[a-z]{{0,4}})_)?(?:the_)?(?:{PERSONS})_",
    "vorname nachname zuname familienname geburtsname rufname benutzername",  # German
    "prenom ^_noms?_$ _nom_de_famille _nom_complet",  # French
    "apellido ^_nombres?_$ nombre_completo nombre_y_",  # Spanish
    "^_nome_$ cognome nominativo",  # Italian
    "voornaam achternaam familienaam ^_naam_$ voorletters",  # Dutch
    "sobrenome apelido nome_completo",  # Portuguese
    "_imie_ _imiona_ nazwisko",  # Polish
    "fornamn efternamn fornavn efternavn etternavn etunimi sukunimi jmeno prijmeni фамили _имя_ отчество _фио_",
    "姓名 氏名 名前",
    "_mails?_ e_?mails?_ mail_?(?:address|adresse) courriel _correo _posta_elettronica 邮箱",
    "phone telefon telefoon telephon _tel_ _tlf_ _mobile_ _mobil_ _handy mobilnummer cell_?phone _fax _gsm_",
    "celular _movil_ telemovel",
    "cellulare телефон 电话 電話 手机",
    "(?:home|street|postal|mailing|billing|email|ip|mac)_?address ^_address(?:es)?_ _address_line street",
    "anschrift strasse ^_str_ adress[eao]?_ hausn(?:umme)?r",  # German
    "direccion domicilio _calle_ indirizzo _adres_ huisnummer straat endereco _morada_ _rua_ _ulica адрес 地址 住所",
    "_urls?_ website homepage facebook twitter instagram linkedin skype _login_ passwor[dt]",
    "kennwort _token_ fingerprint",
    "unterschrift _signature_ _photo_ _foto_",
)
# What people have typed.
FREE_TEXT = _any(
    "_comments?_ _notes?_ _remarks?_ free_?text _feedback_ _message_ narrative",
    "bemerkung notiz anmerkung kommentar freitext commentaire remarque observacion comentario _notas?_ osservazion",
    "commento opmerking toelichting observaca uwagi komentarz",
)
# Numbers that an office, a bank or a maker gave to one person or one device.
OFFICIAL = _any(
    "_ssn_ social_(?:security|insurance) _nino_ national_(?:insurance|id) _nhs_ _mrn_ medical_record",
    "passport passeport pasaporte passaporto passaporte paspoort paszport",
    "health_card _tax_?id_ driving_licen[cs]e licen[cs]e_?(?:plate|number|no|nr) numberplate _vin_",
    "sozialversicherung _svnr_ rentenversicherung krankenversicherten reisepass _pass_?n(?:umme)?r ausweis",  # German
    "steuer_?(?:id|n(?:umme)?r) kennzeichen fuehrerschein fuhrerschein kontonummer konton?r_ kreditkarte",
    "_insee_ _nir_ securite_sociale _n(?:um)?_?secu matricule",  # French
    "_dni_ _nie_ _nif_ _nuss_ _curp_ seguridad_social",  # Spanish
    "codice_fiscale codfisc tessera_sanitaria",  # Italian
    "_bsn_ burgerservice rijksregister _cpf_ seguranca_social _pesel_ dowod_osobisty",  # Dutch, Portuguese, Polish
    "personnummer _cpr_ henkilotunnus rodne_cislo aadhaa?r _inn_ снилс паспорт 身份证",
    "historia_clinica cartella_clinica dossier_medical krankenakte cedula",
    "rekeningnummer numero_de_(?:cuenta|compte|conta) conto_corrente account_?(?:number|num|no|nr)_",
    "_iban_ (?:credit_)?card_?(?:number|num|no|nr)_ _pan_(?:no|number)",
    "_imei_ _imsi_ uuid _guid_ _ip_ _mac_addr device_?id cookie",
)
# Identifiers of rows, of persons, or of other things.
ID = _any(
    "_ids?_ _[pucsn]id_ _hhid_ _id(?:nr|no|num|code|nummer)_ _ident_ _caseid_ _seqn_ _rownames?_",
    "_row_?(?:id|no|nr|num|number|index)_ _record_?(?:id|no|nr|number)_",
    "identifi(?:er|cator|ant|cativo|kation) kennung kennziffer identificador identyfikator",
    rf"(?:{PERSONS})id[a-z]?_",
    "",
    "(?:utility|company|school|hospital|case|order|visit|event|study|item|sample|specimen|site|sch|dist|fam|hh)id[a-z]?_",
)
# Words such as "number" can name a code or a count: the values decide.
NUMBERING = _any(
    "names?_ _(?:number|num|no|nr|nos)_$ ^_(?:number|num|no|nr|index|serial|key|code|case|record|obs|rank|lfd)_",
    "nummer _numero_ _nro_ _numer_ [a-z]{3}nr_ _seq(?:uence|uential)?_ _case_ _account _konto_ _compte_",
    "_cuenta_ _conto_ _folios?_ _expediente _legajo_ _fascicolo_",
    "_licen[cs]e_ _accession _aktenzeichen _az_ _dossier _chart_ _ticket _invoice _rechnung _bestell _order_ _contract",
    rf"_vertrag ^_(?:{PERSON})_$ ^_(?:{FAMILIES})_$ address _code_$ _key_$",
)
NUMBER_OF_PERSON = _any(
    rf"(?:{PERSONS})_?(?:id|ids|nr|no|num|number|nummer|key|code|pseudonym|numero|numer)_$",
    rf"_(?:id|numero|n|numer|num|no|codigo|codice)_(?:d[eiau]l?l?a?_)?(?:{PERSONS})_$",
    rf"^_(?:{PERSON})_$ ^_p?id_$ _caseid_",
)
NUMBER_OF_FAMILY = _any(rf"^_(?:{FAMILIES})_$")
NUMBER_OF_GROUP = _any(rf"_(?:{GROUPS})_")
HOUSEHOLD = _any("household _hh haushalt menage _hogar famil nucleo huishoud gospodarstw")
COUNT = _any(
    "numbers?_of _no_of _num_of _nb_ ^_n_ ^_num_(?!ero)[a-z] _counts?_ quantity _children_",
    "anzahl _kinder_ nombre_d aantal _antal_ quantidade cantidad liczba _ilosc",
    "numero_de_(?:hijos|filhos|visitas|personas|pessoas) numero_(?:di_)?(?:figli|visite)",
)
SENSITIVE = _any(
    "_dx_ _icd_",
    "diagnos _diag_ _dg_ disease illness _condition symptom _drug medic cancer tumou?r _hiv_ _aids_ therap",
    "treatment surg chemo",
    "mortality _death _[lh]dl_ chol gluc ha?emo _bmi_ _weight pressure systol diastol pulse",
    "_labs?_ _tests?_ _results?_",
    "salary income wage _pay tax charge _cost debt credit balance _scores?_ _grades?_ crime offen[cs] arrest _stay_",
    "befund krank _krebs gehalt _lohn einkommen umsatz schulden steuer blutdruck blutzucker",
    "gewicht verweildauer strafe",
    "maladie salaire revenu impot _poids_ tension_arterielle traitement",  # French
    "enfermedad sueldo salario ingresos _renta_ impuesto _peso_ tratamiento",  # Spanish
    "malattia stipendio reddito impost[ae]",  # Italian
    # diseases, findings, results, outcomes and conduct: what one may learn about a person
    "infect positiv seropos diabet hypertens asthma _stroke infarct angina _cardi coronar epilep depress anxi_ anxiety",
    "psych mental_ suicid dement arthrit ascites edema spiders hepato cirrh biopsy malign metast relaps recurr",
    "remission",
    "toxic adverse complicat pregnan abortion miscarr stillb contracept vaccin allerg disab handicap overweight obes",
    "_stage_ _ecog_ karno platelet albumin bilirub creatin cholest _cd_ viral_load antibod genotype mutation",
    "_dead_ _died_ _dies_ _death deceas surviv_ survived _fatal _vital_ _outcomes? _fail(?:ed|ure)?_ _health _hlth",
    "_sick_ _ill_ _smok cigar tobac alcohol _drunk_ _drink marijuana cannabis cocaine heroin addict narc_ abus",
    "violen convict prison _jail _parole felony rearrest priors?_ _prio_ delinq den(?:y|ied|ial)_ default_ foreclos",
    "bankrupt affairs?_ naffairs nbaffair adulter divorce infidel _sexual _vote_ _voted_ _party_ political _union_",
    "bronch _tb_ hepatit colitis ulcer_ polio_ headache cough hayfever nervous_?break crohn epicond fractur ventil",
    "_trt_ _treat_ _treated_ _treats_ qsmk _cigs_ hosp(?:italized|italised|_?vis|_?stay) transplant traitanx neurotic",
    "badh(?:ealth)?_ physlim absent injur_ injury lesion nausea vomit pain_ swelling bleed _unhap _happy cured",
    "_poverty welfare_ medicaid foodstamp _lunch_ _iq_ wealth",
    "infekt erkrank ergebnis bluthochdruck schlaganfall _herz schwanger fehlgeburt _sucht _rauch _alkohol behinder",
    "pflegegrad impf(?:ung|status) allergi vorstraf delikt kredit_ ausfall verstorben gestorben _tod_ todes ueberleb",
    "rezidiv rueckfall stadium metastas zustand verlauf nebenwirk laborwert laborbefund messwert _wert_$ gesund",
    "scheidung partei gewerkschaft vermoegen arbeitslos sozialhilfe",
    "^_(?:status|event|events|response|censor|cens|censored)_$",
    "ziekte _loon_ inkomen belasting bloeddruk",  # Dutch
    "doenca _renda_ choroba pensja zarobk dochod wynagrodzenie podatek rozpoznanie diagnoza",  # Portuguese, Polish
)
QUASI = _any(
    "_aged?_ birth _dob_ _sex_ gender _race_ ethnic _zip postal post_?code _city_ _town_ _state_ county country region",
    "_educ_ schooling _female_ _male_ _married_ _black_ _white_ _nonwhite_ hispanic_ _asian_ _kids_ _urban_ _rural_",
    "marital marriage education degree occupation _job profession employ _work religion household",
    "rooms native national",
    "language admission _date date_ _years?_ _yr_ _lat_ _lon_ _lng_ latitud longitud coordinat relationship",
    "_alter_ geburt _geb_ geschlecht _plz_ postleitzahl _ort_ stadt wohnort bundesland _land_ familienstand beruf",
    "breitengrad langengrad laengengrad koordinate rechtswert hochwert",
    "bildung schulabschluss staatsang nationalit konfession datum _jahr_ _kinder_",  # German, as the line before
    "naissance _sexe_ _ville_ _pays_ etat_civil situation_familiale metier etudes",  # French
    "_edad_ nacimiento _sexo_ genero ciudad _pais_ estado_civil ocupacion educacion _fecha",  # Spanish
    "_eta_ nascita _sesso_ citta _paese_ _cap_ stato_civile istruzione _data_",  # Italian
    "leeftijd geboorte geslacht woonplaats beroep opleiding burgerlijke",  # Dutch
    "idade nascimento cidade profissao escolaridade _cep_",  # Portuguese
    "_wiek_ urodz _plec_ miasto kod_pocztowy _kraj_ zawod wyksztalcenie stan_cywilny",  # Polish
    "_alder_ _kon_ fodsel fodelse возраст _пол_ город 年龄 性别 年齢 性別",
)
POSTCODE = _any(
    "_zip postal_?code post_?code _plz_ postleitzahl code_postal codigo_postal _cap_$ _cep_ kod_pocztowy _postnr_",
    "postnummer ^_cp_$ ^_npa_$",
)
PLACE = _any("country _land_ _pays_ _pais_ paese _kraj_ continent nation iso_ _code_ _cc_")  # where NA can be Namibia
SAMPLING_WEIGHT = _any(
    "fnlwgt [a-z]{2,}wgt_ _p_?weight _pw_ pweight sampl(?:e|ing)_?(?:weight|wt|wgt) survey_?w design_?w final_?w",
    "analysis_?w (?:per|hh|person|household|pop|svy|base|replicate|rep)_?(?:weights?|wts?)_ wt(?:int|mec) expansion",
    "weights_ _w_?weight_ hochrechnung gewichtung ponderat ponderac _pond_",
)
BIRTH = _any("birth geburt naissance nacimiento nascita geboorte nascimento urodz")
AMBIGUOUS_WEIGHT = _any("_weight_ _wts?_ _wgts?_ gewicht _peso_ _poids_ _waga_")  # of a body, or of a sample
# Codes of places, schools, firms and clusters: whole numbers that stand for a group of people.
NAMED_CODE = _any(
    "_vill _sch(?!ool_$|ool_?(?:ing|y[ea]*r)|ed|olar) _inst _dist(?:r(?:ict)?)?_?(?:id|cod|num|nr|no|_) county fips",
    "_muni _prov",
    "_region _clus _ward _hosp(?!_?vis|_?stay|_?day|itali[sz]) _clinic _site _cent(?:er|re)_ _dept _firm",
    "_plant_?(?:id|n|_) _branch _store _psu _strat",
    "_tract _block _precinct _parish _commune _team _cowc _ccode _cty _state(?!_?anx) _mkt _market _zip _area_",
    "_cell_?id",
    "_class_?(?:id|no|nr)?_$ _puma cod[ei]?_$ num_$ [a-z]_?number_$ nr_$ nummer_$ _id_ [^aeioukr]ids?_$",
    "_dorf gemeinde _kreis landkreis bezirk _klinik _station_ _betrieb _filiale _ort_ _standort _zentrum _stadtteil",
    "_ecole _etab _canton _dep_ departement _escuela _colegio localidad _distrito _barrio _comune_ _scuola _gmina",
)
# Times, ages, amounts and scores: whole numbers with an order, whatever their neighbours do.
MEASURED = _any(
    "_aged?_ (?<!vill)age_$ _ages?_ _alter_ _edad_ _years?_ _yrs?_ year_$ yr_$ _month days?_ _dates?_ _hours?_ _hrs?_",
    "_time time_$ weeks?_ wait",
    "_jahr _monat _tage?_ _stunden _datum annee _mois _jours _ano_ _fecha duration _dauer tenure exper",
    "_gain _loss income wage salar _pay(?:ment)?_ price _cost _tax amount balance _educ score _sc_ _bmi_ weight",
    "height pressure",
    "einkommen gehalt lohn preis kosten betrag gewicht groesse _rank_ percent _pct",
)


# Shapes of texts


# Common given names, in small letters


_NAMES = """
adam adrian agnes agnieszka ahmed aisha alan alberto aleksandra alessandro alex alexander alexandra alexandre alfred
ali alice alicia amanda amy ana anders andre andrea andreas andrew andrzej angela anita anja anke ann anna anne
annette antoine anton antonio arthur astrid barbara beata beatriz ben benjamin bernard bernd bert birgit bjorn brian
bruno camille carla carlos carmen carol caroline catherine cecilia chantal charles charlotte chiara chris christa
christian christiane christina christine christoph christopher claire clara claudia claus cristina daniel daniela
david deborah denis dennis diana diego dieter dirk dominik donald dorota dorothy edith eduardo edward elena elisabeth
elizabeth ella ellen emily emma eric erik erika ernst eva ewa fabian fatima felix fernando filip finn florian
francesca francesco francisco francois frank franz frederic friedrich gabriel gabriela gary georg george gerard gerd
gerhard gertrud giovanni gisela giulia giuseppe greta grzegorz guido gustav hannah hannelore hans harald hassan
heather heike heinrich heinz helen helena helga henri henry herbert hermann horst ian ibrahim ines ingrid irena irene
isabel isabelle ivan jack jacob jacques jakub james jan jana jane janet jason javier jean jennifer jens jessica joan
joanna joao joaquim johan johann johanna john jonas jonathan jorg jose josef joseph joshua juan judith julia julie
julien jurgen karen karin karl karl-heinz katarzyna kate katharina katherine kathrin kenneth kevin klaus krzysztof
kurt lars laura laurent lea lena leon lisa lorenzo louis louise luca lucas lucia lucy luis luisa lukas maciej
magdalena malgorzata manfred manuel manuela marc marcel marcin marco margaret maria marie marina mario marion mark
markus marta martha martin martina mary mateusz matteo matthew matthias maximilian mehmet melanie mia michael michal
michel michele michelle miguel mohamed mohammed monica monika muhammad mustafa nadine nancy natalia nathalie nicholas
nicola nicolas nicole niklas nina noah nora olga oliver olivia oscar otto pablo paolo pascal patricia patrick paul
paula paulo pawel pedro peter petra philip philipp philippe pierre piotr rachel rafael rainer ralf ramon raphael
rebecca regina renate ricardo richard rita robert roberto roger roland rolf rosa ruth ryan sabine samuel sandra sara
sarah scott sebastian sergio sharon silke silvia simon simone sofia sonja sophia sophie stefan stefanie stefano
stephan stephen steven susan susanne sven sylvia tanja tatjana teresa theo thomas tim tobias tom tomasz torsten ulrich
ulrike ursula ute uwe valentina valerie vanessa vera veronica victor vincent walter werner wilhelm william willy
wolfgang xavier yasmin yusuf yves zofia
"""
GIVEN_NAMES = frozenset(_NAMES.split())


# Shapes of texts


SHAPES = {  # what most values look like, as a sentence has it
    "email": "e-mail addresses",
    "url": "web addresses",
    "uuid": "UUIDs",
    "mac": "MAC addresses of devices",
    "ip": "IP addresses",
    "iban": "bank accounts (IBAN)",
    "card": "numbers of payment cards",
    "official": "official numbers of persons, such as social security numbers",
    "phone": "phone numbers",
    "hash": "hashes or tokens",
    "coordinates": "pairs of coordinates",
    "street": "street addresses",
    "person": "names of people",
    "contact": "texts with e-mail addresses, phone numbers or account numbers in them",
    "dates": "dates that are not written as 2024-03-31",
    "amounts": "numbers that are not written as 12.5",
    "prose": "free text",
    "answer": "yes or no",
    "code": "codes such as A-00123",
}
IDENTIFYING = frozenset(SHAPES) - {"dates", "amounts", "prose", "answer", "code"}  # whatever the counts are
LOOKED_AT = 1000  # values
FIRST_LETTERS = 300  # of a value, which are compared with shapes
FIRST_OF_PROSE = 2000  # letters in which addresses and numbers are searched
MOST = 0.5  # of the values show a shape
SOME = 0.02  # of the values hold an address or a number inside a longer text
NAMED = 0.3  # of the values begin or end with a common given name
PROSE_WORDS = 5
YES_OR_NO = "yes no y n t f true false ja nein j nee oui non o si sí sim não nao s tak nie 0 1"

FULL = {
    "email": r"[^@\s,;]+@[^@\s,;]+\.[^@\s,;]{2,}",
    "url": r"(?:https?://|www\.)\S+",
    "uuid": r"\{?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\}?",
    "mac": r"(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}",
    "ip": r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}|(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|[0-9a-fA-F:]*::[0-9a-fA-F:.]*",
    "official": (
        r"[0-9]{3}-[0-9]{2}-[0-9]{4}"  # the United States
        r"|[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}"  # Brazil
        r"|[0-9]{6}[-+][0-9]{4}"  # Denmark, Finland, Sweden
        r"|756\.[0-9]{4}\.[0-9]{4}\.[0-9]{2}"  # Switzerland
        r"|[A-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]"  # the United Kingdom
        r"|[A-Z]{6}[0-9]{2}[A-Z][0-9]{2}[A-Z][0-9]{3}[A-Z]"  # Italy
        r"|[XYZ]?[0-9]{7,8}-?[A-Z]"  # Spain
        r"|[12] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}"  # France
        r"|[0-9]{2} ?[0-9]{6} ?[A-Z] ?[0-9]{3}"  # Germany
    ),
    "coordinates": r"[(\[]?-?[0-9]{1,3}\.[0-9]+[,; ] ?-?[0-9]{1,3}\.[0-9]+[)\]]?|POINT ?\(.*\)",
    "street": (
        r"[^\d\W].*(?:str\.?|straße|strasse|weg|gasse|platz|allee|straat|laan|plein) ?[0-9]+.*"
        r"|(?:rue|avenue|calle|via|piazza|rua|ulica|ul\.) .*[0-9]+.*"
        r"|[0-9]+[^,]* (?:st|street|rd|road|ave|avenue|lane|ln|dr|drive|blvd|rue)\.?(?:,.*)?"
    ),
}
INSIDE = re.compile(
    r"[\w.+-]{1,64}@[\w-]{1,64}\.\w{2}|\b[A-Z]{2}[0-9]{2}(?: ?[0-9A-Z]{4}){3,7}\b|(?:\+|\b00)[0-9][0-9 ()/-]{7,20}[0-9]"
)
IBAN = re.compile(r"[A-Z]{2}[0-9]{2}(?: ?[0-9A-Z]{4}){2,7}(?: ?[0-9A-Z]{1,4})?")
PHONE = re.compile(r"(?:\+|00|\()?[0-9][0-9 ()./-]{5,18}[0-9](?: ?(?:x|ext\.?) ?[0-9]+)?")
DAY = re.compile(
    r"(?:[0-9]{1,2}[-./ ]){2}(?:[0-9]{2}|[0-9]{4})(?:,?[ T].*)?|[0-9]{4}[-./][0-9]{1,2}[-./][0-9]{1,2}(?:[ T].*)?"
    r"|[0-9]{1,2}\.? ?[A-Za-z]{3,9}\.?,? ?(?:[0-9]{2}|[0-9]{4})|[A-Za-z]{3,9}\.? [0-9]{1,2},? [0-9]{4}"
)
AMOUNT = re.compile(
    r"[-+<>~]? ?[€$£]? ?[0-9]{1,3}(?:[ .,'’]?[0-9]{3})*(?:[.,][0-9]+)?(?: ?[€$£%]| [^\W\d_]{1,6}(?:/[^\W\d_]{1,4})?)?"
)
CODE = re.compile(r"[^\W\d_]{0,5}[-_/. ]?[0-9]+(?:[-_/.][0-9]+)?[^\W\d_]?")
RANGE = re.compile(r"([0-9]+) ?- ?([0-9]+)")
HEXADECIMAL = re.compile(r"[0-9a-fA-F]{16,}")
TOKEN = re.compile(r"\$[0-9a-z]{1,8}\$.{20,}|[A-Za-z0-9+/]{20,}={0,2}")


def shape_of(texts: Sequence[str]) -> str | None:
    """Say what most of the texts look like; None where they look like nothing in particular.

    >>> shape_of(["anna@example.org", "b.c@mail.example.de"]), shape_of(["red", "blue"])
    ('email', None)
    """
    long = [text.strip()[:FIRST_OF_PROSE] for text in texts[:: max(1, -(-len(texts) // LOOKED_AT))]]
    sample = [text[:FIRST_LETTERS] for text in long]
    if not sample:
        return None
    if len(texts) <= 2 and _share(sample, _is_answer) == 1:
        return "answer"
    for name, looks in TESTS.items():
        if _share(sample, looks) >= MOST:
            return name
    if _are_names_of_people(sample):
        return "person"
    if _share(long, _holds_contact) >= SOME:
        return "contact"
    spaces = sum(text.count(" ") + 1 for text in sample) / len(sample)
    if spaces >= PROSE_WORDS:
        return "prose"
    return "code" if _share(sample, _is_code) >= MOST else None


def _share(texts: Sequence[str], looks: Callable[[str], bool]) -> float:
    return sum(map(looks, texts)) / len(texts)


def _is_answer(text: str) -> bool:
    return text.casefold() in YES_OR_NO.split()


def _matching(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.IGNORECASE if pattern is FULL["street"] else 0)
    return lambda text: compiled.fullmatch(text) is not None


def is_iban(text: str) -> bool:
    """Tell whether a text is an IBAN, by its check digits."""
    if not IBAN.fullmatch(text):
        return False
    plain = text.replace(" ", "")
    return int("".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])) % 97 == 1


def is_card_number(text: str) -> bool:
    """Tell whether a text is the number of a payment card, by its length and Luhn's check digit."""
    digits = text.replace(" ", "").replace("-", "")
    if not (digits.isascii() and digits.isdigit() and 13 <= len(digits) <= 19):
        return False
    doubled = [int(digit) * (2 if place % 2 else 1) for place, digit in enumerate(reversed(digits))]
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def _is_phone_number(text: str) -> bool:
    """Tell whether a text has as many digits as a phone number and is written as one, not as a number or a date."""
    if not PHONE.fullmatch(text) or DAY.fullmatch(text):
        return False
    digits = sum(letter.isdigit() for letter in text)
    span = RANGE.fullmatch(text)
    if span and int(span[1]) < int(span[2]):  # 10000-19999
        return False
    written = text[0] in "+(0" or re.search(r"[0-9][ /()-]+[0-9]", text) is not None
    return 7 <= digits <= 15 and written and text.count(".") != 1


def _is_hash(text: str) -> bool:
    """Tell whether a text is a hash or a token: long, without spaces, with digits among the letters."""
    digits = sum(map(str.isdigit, text))
    if HEXADECIMAL.fullmatch(text):
        return 0 < digits < len(text)
    return TOKEN.fullmatch(text) is not None and digits >= 3 and text != text.lower()


def _are_names_of_people(texts: Sequence[str]) -> bool:
    """Tell whether enough short texts begin or end with a common given name; three, at least."""
    named = sum(map(_begins_or_ends_with_given_name, texts))
    return named >= max(3, NAMED * len(texts)) and _share(texts, _few_words) >= MOST


def _begins_or_ends_with_given_name(text: str) -> bool:
    parts = words(text).strip("_").split("_")
    return parts[0] in GIVEN_NAMES or parts[-1] in GIVEN_NAMES


def _few_words(text: str) -> bool:
    return text.count(" ") <= 3


def _is_amount(text: str) -> bool:
    """Tell whether a text is a number with a decimal comma, a unit or a sign, which is not read as a number."""
    return AMOUNT.fullmatch(text) is not None and re.search(r"[,€$£%<>]|[0-9] [^\W\d]", text) is not None


def _is_code(text: str) -> bool:
    return CODE.fullmatch(text) is not None


def _holds_contact(text: str) -> bool:
    return INSIDE.search(text) is not None


TESTS: dict[str, Callable[[str], bool]] = {
    **{name: _matching(FULL[name]) for name in ("email", "url", "uuid", "mac", "ip")},
    "iban": is_iban,
    "card": is_card_number,
    **{name: _matching(FULL[name]) for name in ("official", "coordinates")},
    "hash": _is_hash,
    "dates": lambda text: DAY.fullmatch(text) is not None,
    "phone": _is_phone_number,
    "amounts": _is_amount,
    "street": _matching(FULL["street"]),
}
