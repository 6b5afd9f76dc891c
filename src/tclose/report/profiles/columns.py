"""Published columns: which values stand in their cells, what these can be, and which columns are understood.

Every different cell is taken apart into the values that stand in it. A range shows its two ends, a set its members,
`x or missing` shows x. Nothing is sampled and nothing is skipped: a verdict on a column rests on all of its cells.

A column is understood if every word of its name is known, and every cell is what such a column may show. This is the
positive evidence that "met" needs. A name with one unknown word, or one cell of another kind, and the column is not
understood: then a person must say what it holds. So words are added here only if they are harmless in every column with
such a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tclose.policy.draft import patterns
from tclose.policy.draft.patterns import FULL, is_card_number, is_iban
from tclose.recode.cell import OR_MISSING, SetCell

# Values in the cells of a column


MARKS = "≤≥<>"
NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]+)?")
RANGE = re.compile(r"[\[(]\s*([^\[\](),;]+?)\s*[,;]\s*([^\[\](),;]+?)\s*[\])]")
EMPTY = (  # cells that say that there is no value
    "* missing unknown na n/a n.a. nan null none ? - . #n/a <na> k.a. k.a n.b. n.b unbekannt inconnu desconocido"
    " suppressed withheld redacted"
)
NOTHING = frozenset(EMPTY.split()) | {
    "",
    "k. a.",
    "n. b.",
    "not known",
    "not available",
    "keine angabe",
    "no answer",
    "(missing)",
}


@dataclass(frozen=True, eq=False)
class PublishedColumn:
    """A column of a release: its name, and the different texts of all its published cells."""

    name: str
    texts: Sequence[str]
    pseudonym: bool = False  # whether it shows pseudonyms of an identifier

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The different values in its cells; cells that say that there is no value show none."""
        return tuple(dict.fromkeys(value for text in self.texts for value in values_in(text)))

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The values that are plain numbers, without the mark of an open end."""
        bare = (value.lstrip(MARKS).strip() for value in self.values)
        return tuple(value for value in bare if NUMBER.fullmatch(value))

    @cached_property
    def others(self) -> tuple[str, ...]:
        """The values that are no plain numbers."""
        return tuple(value for value in self.values if not NUMBER.fullmatch(value.lstrip(MARKS).strip()))

    @cached_property
    def most_digits(self) -> int:
        """The most digits that any value has."""
        return max((sum(map(str.isdigit, value)) for value in self.values), default=0)

    @property
    def longest(self) -> int:
        """The letters of the longest value."""
        return max(map(len, self.values), default=0)

    @cached_property
    def amounts(self) -> tuple[float, ...]:
        """The plain numbers, read."""
        return tuple(float(value.replace(",", ".")) for value in self.numbers)

    @property
    def only_numbers(self) -> bool:
        """Whether every value is a plain number."""
        return not self.others

    def any_other(self, pattern: re.Pattern[str]) -> bool:
        """Tell whether a value that is no plain number shows a pattern somewhere."""
        return any(pattern.search(value) for value in self.others)


def values_in(text: str) -> Iterator[str]:
    """Yield the values that a published cell shows.

    >>> [*values_in("[20, ≥90] or missing")], [*values_in('{a, "b, c"}')], [*values_in("missing")]
    (['20', '≥90'], ['a', 'b, c'], [])
    """
    bare = text.strip().removesuffix(OR_MISSING).strip()
    if bare.casefold() in NOTHING:
        return
    if bare.startswith("{") and bare.endswith("}"):
        for cell in SetCell.parse(bare, missing=False):
            if len(cell.members) > 1:
                yield from (value for member in cell.members for value in values_in(member))
                return
    if ends := RANGE.fullmatch(bare):
        yield from (value for end in ends.groups() for value in values_in(end))
    else:
        yield bare


# Identifiers that values show, or leave room for


Sign = Callable[[str], object]

YEAR = "(?:18|19|20|21)[0-9]{2}"
DAY_OR_MONTH = "(?:0?[1-9]|[12][0-9]|3[01])"
MONTHS = (
    "january february march april may june july august september october november december"
    " jan feb mar apr jun jul aug sep sept oct nov dec"
    " januar jänner februar märz mai juni juli oktober dezember okt dez"
    " janvier février mars avril juin juillet août septembre octobre novembre décembre"
    " enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
    " gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre"
)
MONTH = f"(?:{'|'.join(sorted(MONTHS.split(), key=len, reverse=True))})"
DAYS = (
    rf"{YEAR}-(?:[01][0-9]|Q[1-4]|W[0-9]{{2}})(?:-[0-9]{{1,2}})?(?:[T ].*)?",  # 2024-03-31, 2024-03, 2024-Q1, 2024-W07
    rf"Q[1-4][ /-]?{YEAR}",
    rf"{DAY_OR_MONTH}([./-]){DAY_OR_MONTH}\1(?:{YEAR}|[0-9]{{2}})(?: .*)?",  # 31.03.2024, 3/31/24
    rf"{YEAR}[./][0-9]{{1,2}}(?:[./][0-9]{{1,2}})?",
    rf"[01]?[0-9][./-]{YEAR}",  # 03/2024
    rf"(?:[0-9]{{1,2}}(?:st|nd|rd|th|\.)?[ -]?(?:of )?)?{MONTH}\.?,?[ -]?[0-9][0-9, ]*",  # March 2024, 31. März 2024
    rf"[0-9]{{1,2}}(?:st|nd|rd|th|\.)?[ -]?(?:of )?{MONTH}\.?",  # 31 March
)
DAY = re.compile("|".join(f"(?:{day})" for day in DAYS).replace(r"\1", "[./-]"), re.IGNORECASE)
COMPACT_DAY = re.compile("(?:18|19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])")
STREET = re.compile(FULL["street"], re.IGNORECASE)
COORDINATES = re.compile(r"\(?-?[0-9]{1,3}\.[0-9]+[,;] ?-?[0-9]{1,3}\.[0-9]+\)?|POINT ?\(.*\)")
PHONE = re.compile(r"\+[0-9][0-9 ()/.-]{6,}|\([0-9]{3,5}\) ?[0-9][0-9 -]{4,}")
EMAIL = re.compile(r"[^@\s]+ ?(?:@|\(at\)|\[at\]) ?[^@\s]+\.[^@\s]{2,}")
SSN = re.compile("[0-9]{3}-[0-9]{2}-[0-9]{4}")
URL = re.compile(r"(?:[a-z]+://|www\.)\S+|\S+\.[a-z]{2,}/\S+", re.IGNORECASE)
IP = re.compile(
    r"(?:[0-9]{1,3}\.){3}(?:[0-9]{1,3}|\*|x+)|[0-9a-f:]*::[0-9a-f:*]*|(?:[0-9a-f]{3,4}:){3,}[0-9a-f:*]+", re.IGNORECASE
)
PICTURE = re.compile(r"data:image/.*|\S+\.(?:jpe?g|png|gif|bmp|tiff?|dcm|heic|webp)", re.IGNORECASE)


def digits_of(value: str) -> int:
    """Count the digits of a value."""
    return sum(map(str.isdigit, value))


def letters_of(value: str) -> int:
    """Count the letters of a value, in any script."""
    return sum(map(str.isalpha, value))


def _is_code(value: str) -> bool:
    return digits_of(value) >= 3 or (digits_of(value) >= 1 and letters_of(value) >= 1)


def _is_card(value: str) -> bool:
    return not value.isdigit() and is_card_number(value)


SIGNS: Mapping[str, Mapping[str, Sign]] = {  # what a value shows by itself, by the letter of the identifier
    "B": {"street addresses": STREET.fullmatch, "pairs of coordinates": COORDINATES.fullmatch},
    "C": {"dates finer than a year": DAY.fullmatch},
    "D": {"phone numbers": PHONE.fullmatch},
    "F": {"e-mail addresses": EMAIL.search},
    "G": {"social security numbers": SSN.fullmatch},
    "J": {"bank accounts (IBAN)": is_iban, "numbers of payment cards": _is_card},
    "M": {"MAC addresses of devices": re.compile(FULL["mac"]).fullmatch},
    "N": {"web addresses": URL.fullmatch},
    "O": {"internet addresses": IP.fullmatch},
    "Q": {"pictures": PICTURE.fullmatch},
    "R": {"UUIDs": re.compile(FULL["uuid"]).fullmatch},
}
UNMISTAKABLE = frozenset("FMNO")  # a value of this look is this identifier, and no other
NAMED: Mapping[str, Sign] = {  # what a value shows at least, where the name of its column says what it is
    "A": lambda value: letters_of(value) >= 2 or (letters_of(value) and not value.isascii()),
    "D": lambda value: digits_of(value) >= 5,
    "E": lambda value: digits_of(value) >= 5,
    "F": re.compile(r"@|\(at\)|\[at\]").search,
    "G": lambda value: digits_of(value) >= 4,
    "H": lambda value: digits_of(value) >= 1 and "." not in value and "," not in value,
    "I": _is_code,
    "J": _is_code,
    "K": _is_code,
    "L": _is_code,
    "M": _is_code,
    "N": re.compile(r"[^\W\d]\.[^\W\d]|/").search,
    "O": re.compile("[0-9a-fA-F]*[.:][0-9a-fA-F*]*[.:]|[0-9]{8}").search,
    "P": lambda value: len(value) >= 8,
    "Q": re.compile(r".{100}|\.[a-z]{3,4}$", re.IGNORECASE | re.DOTALL).search,
    "R": lambda value: len(value) >= 6 and digits_of(value) >= 1,
}
AT = re.compile(r"[@＠]|%40|\W ?at ?\W| at ", re.IGNORECASE)
ADDRESS = re.compile(r"/|\\|www| dot |[^\W\d]\.[^\W\d]|\.[^\W\d]{2}", re.IGNORECASE)
SEPARATED = re.compile("[.:].*[.:]|[0-9a-fA-F]{8}")
FILE = re.compile(r"\.[a-z]{3,4}$|/|\\|im(?:g|age)|dsc|pic|photo|foto", re.IGNORECASE)
ROOM: Mapping[str, Callable[[PublishedColumn], object]] = {  # whether the values of a column may hold it at all
    "A": lambda column: any(map(letters_of, column.values)),
    "D": lambda column: column.most_digits >= 4,
    "E": lambda column: column.most_digits >= 4,
    "F": lambda column: column.any_other(AT),
    "G": lambda column: column.most_digits >= 4,
    "N": lambda column: column.any_other(ADDRESS),
    "O": lambda column: column.most_digits >= 8 or column.any_other(SEPARATED),
    "P": lambda column: column.longest > 6,
    "Q": lambda column: column.longest >= 100 or column.any_other(FILE),
}


# Columns that are understood


OLDEST = 89  # the last age that Safe Harbor lets stand by itself
YEAR_VALUE = re.compile(r"[12][0-9]{3}")
LEADING_ZERO = re.compile(r"[+-]?0[0-9]")  # of a code, such as 02139: no amount is written so
AGE = re.compile(
    r"(?:(over|above|under|below|up to) )?([0-9]{1,3}(?:\.[0-9]+)?)"
    r"(?:\s*(?:-|–|to|bis)\s*([0-9]{1,3}(?:\.[0-9]+)?))?"
    r"\s*(?:years?|yrs?|y|jahre?|j\.?|ans|años|anni|jaar)?(?: old)?(\+| or (?:older|over|more)| and (?:older|over))?",
    re.IGNORECASE,
)
ICD = re.compile(r"[A-TV-Z][0-9][0-9AB](?:\.[0-9A-Z]{1,4})?\.?\*?", re.IGNORECASE)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_MODIFIERS = _set(
    "mean avg average total max min sum first last baseline initial final pre post before after at of in the and"
    " or level levels value measured serum blood plasma fasting resting body mmol mg dl kg cm mm mmhg hg ug ng ml"
    " pct percent ratio log change diff low high mid std per diagnosis admission discharge onset enrollment"
    " current highest lowest"
)
_MEASURES = _set(
    "ldl hdl chol cholesterol cholesterin glucose gluc blutzucker insulin hba hb hemoglobin haemoglobin hgb"
    " hematocrit hct wbc rbc platelets creatinine kreatinin crea egfr gfr urea bun sodium potassium natrium kalium"
    " calcium albumin bilirubin alat asat alt ast ggt crp esr tsh ferritin triglycerides trig bmi weight gewicht"
    " peso poids height groesse waist systolic diastolic systole diastole sbp dbp bp pressure blutdruck pulse puls"
    " temperature temperatur saturation spo fev fvc dose dosage dosis lactate inr ef"
)
_COUNTS = _set(
    "children kinder hijos enfants siblings visits admissions pregnancies parity gravida cigarettes drinks rooms"
    " medications comorbidities"
)
_DURATIONS = _set("stay los verweildauer duration dauer survival followup")
_LENGTHS = _set("length time days day hours weeks months years follow up tage wochen monate jahre")
_SCORES = _set("score scores apgar gcs mmse asa severity stage grade nyha ecog karnofsky pain")
_MONEY = _set("income wage salary cost costs charge charges price earnings gehalt einkommen lohn kosten")
_SEX = _set("sex gender geschlecht sexe sexo sesso")
_CATEGORIES = _set(
    "race ethnicity ethnic marital marriage education bildung schooling smoking smoker smokes alcohol exercise"
    " treatment arm outcome result results response diabetes diabetic hypertension asthma stroke cancer pregnant"
    " pregnancy employment familienstand raucher survived died dead alive relapse sepsis icu surgery infection"
)
_KINDS = _set("status class type category group level highest")
_DIAGNOSES = _set(
    "diagnosis diagnoses diagnose dx disease illness condition icd krankheit erkrankung befund symptom symptoms"
    " diagnostic maladie enfermedad malattia"
)
_AGES = _set("age aged alter edad eta leeftijd idade wiek alder agegrp")
_OF_PERSONS = _set("patient person years year yrs group range class band mother maternal father paternal")
_YEARS = _set("year years jahr yr annee ano anno")
_EVENTS = _set("admission discharge diagnosis visit death surgery birth birthyear yob geburtsjahr of")
_COUNTRIES = _set("country land pays pais nation state bundesstaat us")

ANSWERS = _set("yes no ja nein oui non true false male female männlich weiblich")
_WORDS = ANSWERS | _set(
    "y n m f w d positive negative pos neg never former current ever mild moderate severe low medium high normal"
    " abnormal single married divorced widowed separated partnered civ spouse absent af and or of with not without"
    " no other primary secondary tertiary school schools college university degree bachelor bachelors master"
    " masters doctorate professional some hs grad graduate apprenticeship none elementary academic vocational less"
    " than more assoc acdm voc preschool prof white black asian hispanic latino native american indian pacific"
    " islander mixed african caucasian eskimo amer diverse male female man woman men women employed unemployed"
    " retired student self full part time treatment placebo control active arm dose alive dead died survived"
    " recovered improved unchanged worse yes ledig verheiratet geschieden verwitwet raucher nichtraucher niemals"
    " früher"
)
_ILLNESSES = _set(
    "pneumonia myocardial hypertensive crisis thyroid airway vascular bowel obstructive ulcerative peptic bacterial"
    " fungal sleep apnea osteoporosis cataract glaucoma multiple sclerosis deficiency iron vitamin lymphatic blood bone"
    " joint back flu influenza cold cancer tumor tumour fracture diabetes mellitus stroke infarction heart failure"
    " disease acute chronic hypertension obesity pain migraine fever infection injury asthma copd hiv aids gastric"
    " ulcer lung colon breast prostate kidney renal liver hepatic stomach digestive respiratory circulatory metabolic"
    " mental endocrine disorder disorders depression epilepsy dementia eczema allergy unspecified essential type i"
    " ii skin other system coronary artery atrial fibrillation chest urinary tract bladder gallstones stones"
    " appendix hernia burn wound malignant benign neoplasm neoplasms metastases cardiac cardiovascular cerebral"
    " vascular viral bacterial schizophrenia parkinson alzheimer gout sprain concussion nephrotic syndrome reflux"
    " angina covid tuberculosis unbekannt erkältung grippe krebs"
)
_ENDINGS = re.compile(r".{3,}(?:itis|oma|osis|emia|aemia|pathy|algia|iasis|plegia|rrhea|ism|cardia|uria|ectomy|ation)")
STATES = _set(
    "al ak az ar ca co ct de fl ga hi id il in ia ks ky la me md ma mi mn ms mo mt ne nv nh nj nm ny nc nd oh ok"
    " or pa ri sc sd tn tx ut vt va wa wv wi wy dc pr alabama alaska arizona arkansas california colorado"
    " connecticut delaware florida georgia hawaii idaho illinois indiana iowa kansas kentucky louisiana maine"
    " maryland massachusetts michigan minnesota mississippi missouri montana nebraska nevada ohio oklahoma oregon"
    " pennsylvania tennessee texas utah vermont virginia washington wisconsin wyoming"
) | {"new hampshire", "new jersey", "new mexico", "new york", "north carolina", "north dakota", "rhode island"}
STATES |= {"south carolina", "south dakota", "west virginia", "district of columbia", "puerto rico"}
COUNTRIES = _set(
    "us usa germany deutschland france italy spain portugal austria switzerland belgium netherlands luxembourg"
    " denmark sweden norway finland iceland ireland poland czechia slovakia hungary slovenia croatia serbia"
    " romania bulgaria greece turkey ukraine russia estonia latvia lithuania uk england scotland wales canada"
    " mexico brazil argentina chile peru colombia venezuela ecuador bolivia cuba jamaica haiti japan china india"
    " pakistan bangladesh nepal indonesia malaysia philippines vietnam thailand cambodia laos taiwan korea iran"
    " iraq syria israel egypt morocco algeria tunisia libya nigeria ghana kenya ethiopia uganda tanzania sudan"
    " somalia eritrea senegal mali cameroon angola mozambique zimbabwe zambia australia gb fr it es pt at ch be nl"
    " lu dk se no fi ie pl cz sk hu si hr rs ro bg gr tr ua ru ee lv lt de ca mx br jp cn in au nz"
) | {"united states", "united kingdom", "new zealand", "south africa", "south korea", "el salvador", "costa rica"}


@dataclass(frozen=True)
class ColumnMeaning:
    """What an understood column shows, and the words that say so."""

    kind: str
    shows: str


def meaning_of(column: PublishedColumn) -> ColumnMeaning | None:
    """Return what a column shows, if its name and all of its cells say so; none if a person must say it."""
    if not column.values:
        return ColumnMeaning("nothing", "no value at all")
    if column.longest and all(value.casefold() in ANSWERS for value in column.values):
        return ColumnMeaning("answer", "only words such as yes and no, or female and male")
    words = [word for word in patterns.words(column.name).strip("_").split("_") if word]
    for kind in _MEANINGS:
        if kind.named(words) and kind.fits(column):
            return ColumnMeaning(kind.name, kind.shows)
    return None


def is_understood(name: str) -> bool:
    """Tell whether every word of a name is known, so that cells can decide the rest."""
    words = [word for word in patterns.words(name).strip("_").split("_") if word]
    return any(kind.named(words) for kind in _MEANINGS)


@dataclass(frozen=True)
class _Kind:
    """Columns of one meaning: the words of their names, how many of which are enough, and what their cells may be."""

    name: str
    shows: str
    nouns: frozenset[str]  # one of them must be in the name
    besides: frozenset[str]  # that may stand in the name, too
    fits: Callable[[PublishedColumn], bool]

    def named(self, words: list[str]) -> bool:
        """Tell whether every word of a name is known, and one of them says what the column shows."""
        known = self.nouns | self.besides | _MODIFIERS
        return any(word in self.nouns for word in words) and all(word in known or len(word) == 1 for word in words)


def _numbers_below(limit: float) -> Callable[[PublishedColumn], bool]:
    return lambda column: (
        column.only_numbers
        and all(abs(amount) < limit for amount in column.amounts)
        and not any(map(LEADING_ZERO.match, column.numbers))
    )


def _words_of(*vocabularies: frozenset[str]) -> Callable[[str], bool]:
    def known(value: str) -> bool:
        parts = [part for part in re.split(r"[\W\d_]+", value.casefold()) if part]
        return bool(parts) and all(any(part in words for words in vocabularies) for part in parts)

    return known


def _few_levels(value: str) -> bool:
    bare = value.lstrip(MARKS)
    return bare.isascii() and bare.isdigit() and int(bare) <= 20


_is_category = _words_of(_WORDS)


def _is_illness(value: str) -> bool:
    parts = [part for part in re.split(r"[\W\d_]+", value.casefold()) if part]
    known = all(part in _WORDS or part in _ILLNESSES or _ENDINGS.fullmatch(part) for part in parts)
    return ICD.fullmatch(value) is not None or (bool(parts) and known and not re.search(r"[0-9]{3}", value))


def _categories(column: PublishedColumn) -> bool:
    return all(_few_levels(value) or (_is_category(value) and len(re.findall("[0-9]", value)) <= 2)
               for value in column.values)  # fmt: skip


def _scores(column: PublishedColumn) -> bool:
    return _numbers_below(1000)(column) or _categories(column)


def _illnesses(column: PublishedColumn) -> bool:
    return all(map(_is_illness, column.values))


def ages_of(value: str) -> tuple[float, bool] | None:
    """Return the largest age that a value shows, and whether the value means this age or older; none if it is no age.

    >>> ages_of("≥90"), ages_of("80-84"), ages_of("over 89"), ages_of("90+"), ages_of("ninety"), ages_of("9*")
    ((90.0, True), (84.0, False), (90.0, True), (90.0, True), None, None)
    """
    bare = value.strip()
    found = AGE.fullmatch(bare.lstrip(MARKS).strip())
    if found is None or (bare[0] in MARKS and (found[1] or found[3] or found[4])):
        return None
    last, above = float(found[3] or found[2]), (found[1] or "").casefold() in ("over", "above") or bare[0] == ">"
    return last + above, above or bool(found[4]) or bare[0] == "≥"


def shows_age_over_89(value: str) -> bool | None:
    """Tell whether a value shows an age over 89 other than as "90 or older"; none if it is no age."""
    found = ages_of(value)
    if found is None:
        return None
    age, or_older = found
    return age > OLDEST and not (or_older and age <= OLDEST + 1)


def _ages(column: PublishedColumn) -> bool:
    return all(shows_age_over_89(value) is not None for value in column.values)


def years_of(value: str) -> tuple[int, ...] | None:
    """Return the years that a value shows; none if it is no year, or no span of years.

    >>> years_of("1931"), years_of("1930-1939"), years_of("≤1936"), years_of("1931-03")
    ((1931,), (1930, 1939), (1936,), None)
    """
    found = [part.strip() for part in re.split(r"\s*(?:-|–|to|bis)\s*", value.lstrip(MARKS))]
    return tuple(map(int, found)) if all(YEAR_VALUE.fullmatch(part) for part in found) and len(found) <= 2 else None


def _years(column: PublishedColumn) -> bool:
    return all(years_of(value) is not None for value in column.values)


def _places(column: PublishedColumn) -> bool:
    return all(value.casefold() in STATES | COUNTRIES for value in column.values)


_MEANINGS = (
    _Kind("measure", "numbers of a measurement", _MEASURES, frozenset({"blood", "rate"}), _numbers_below(100_000)),
    _Kind("age", "ages", _AGES, _OF_PERSONS, _ages),
    _Kind("year", "years", _YEARS, _EVENTS | {"patient"}, _years),
    _Kind("year", "years", frozenset({"yob", "birthyear", "geburtsjahr"}), frozenset(), _years),
    _Kind(
        "count",
        "small numbers of things",
        _COUNTS,
        _set("number num no n count anzahl"),
        _numbers_below(1000),
    ),
    _Kind("duration", "lengths of time", _DURATIONS, _LENGTHS | {"hospital"}, _numbers_below(10_000)),
    _Kind("score", "levels of a score", _SCORES, _KINDS, _scores),
    _Kind("money", "amounts of money", _MONEY, _LENGTHS | {"monthly", "annual"}, _numbers_below(10**8)),
    _Kind("category", "words of a known list, or a few levels", _SEX | _CATEGORIES, _KINDS, _categories),
    _Kind("diagnosis", "names or codes of illnesses", _DIAGNOSES, _KINDS | {"code", "main"}, _illnesses),
    _Kind("place", "states of the United States, or countries", _COUNTRIES, frozenset({"birth"}), _places),
)
