"""What texts look like: e-mail addresses, phone numbers, names of people, free text and more.

Only a sample of the different values is looked at. The answer is the name of a shape, never a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tclose.policy.draft.given_names import GIVEN_NAMES
from tclose.policy.draft.names import words

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
