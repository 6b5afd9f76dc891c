"""Columns that are understood: every word of the name is known, and every cell is what such a column may show.

This is the positive evidence that "met" needs. A name with one unknown word, or one cell of another kind, and the
column is not understood: then a person must say what it holds. So words are added here only if they are harmless in
every column with such a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tclose.policy.draft import names
from tclose.report.profiles.cells import MARKS, PublishedColumn

OLDEST = 89  # the last age that Safe Harbor lets stand by itself
YEAR = re.compile(r"[12][0-9]{3}")
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
class Meaning:
    """What an understood column shows, and the words that say so."""

    kind: str
    shows: str


def meaning_of(column: PublishedColumn) -> Meaning | None:
    """Return what a column shows, if its name and all of its cells say so; none if a person must say it."""
    if not column.values:
        return Meaning("nothing", "no value at all")
    if column.longest and all(value.casefold() in ANSWERS for value in column.values):
        return Meaning("answer", "only words such as yes and no, or female and male")
    words = [word for word in names.words(column.name).strip("_").split("_") if word]
    for kind in _MEANINGS:
        if kind.named(words) and kind.fits(column):
            return Meaning(kind.name, kind.shows)
    return None


def is_understood(name: str) -> bool:
    """Tell whether every word of a name is known, so that cells can decide the rest."""
    words = [word for word in names.words(name).strip("_").split("_") if word]
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
    return tuple(map(int, found)) if all(YEAR.fullmatch(part) for part in found) and len(found) <= 2 else None


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
