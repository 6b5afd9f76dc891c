"""What the values of a column can be: identifiers that show by themselves, and those that a value leaves room for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tclose.policy.draft.shapes import FULL, is_card_number, is_iban
from tclose.report.profiles.cells import PublishedColumn

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
