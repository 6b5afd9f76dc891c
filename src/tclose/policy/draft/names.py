"""What the name of a column says about it, in several languages.

English, German, French, Spanish, Italian, Dutch, Portuguese and Polish; and a few words of Scandinavian languages,
Finnish, Czech, Russian, Chinese and Japanese. Every pattern is for a name as `words` returns it: small letters without
accents, words between underscores, as in _marital_status_.
"""

from __future__ import annotations

import re
import unicodedata

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
CODE = _any(
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
