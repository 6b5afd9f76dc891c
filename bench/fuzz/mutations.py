"""How files are damaged: by bytes, lines and cells, by keys of TOML, by values of JSON. A seed decides everything."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

TOKENS = (  # what breaks readers, terminals and spreadsheets
    *(b'"', b'""', b",", b";", b"\t", b"\n", b"\r", b"\r\n", b"\n\n", b" ", b"\0", b"\xef\xbb\xbf", b"\xff", b"\xc3"),
    *(b"\x1b[2J", b"\x1b]0;forged\x07", b"\x9b31m", "\x9b2J".encode(), b"\x08\x08", b"\x7f", b"\r\x1b[K"),
    *(b"0", b"-0.0", b"-0", b"1e999", b"1e-999", b"1e-320", b"1E+5", b"NaN", b"inf", b"01", b"+5", b"1_000", b"0x1F"),
    *(b"9" * 25, b"9" * 120, b"0." + b"1" * 60, b"-" + b"8" * 40, b"1/3", b"1,5", b"1e22", b"12345678901234567890"),
    *(b"2020-02-30", b"2020-01-01", b"2020-01-01T00:00", b"true", b"False", b"None", b"NA", b"null", b"(missing)"),
    *(b"*", b"^x$", b"[20, 35]", b"[20, 35] or missing", b"{a, b}", b">= 90", b"=cmd()", b"@x", b"-1+1", b"'", b"\\"),
    *("é".encode(), "\u202eabc".encode(), "😀".encode(), "e\u0301".encode(), "\u2028".encode(), "\ufeff".encode()),
    *(b"x" * 5000, b"../../etc/passwd", b"%s%n", b"{0}", b"[bold]x[/bold]", b"[/]"),
)
SETTINGS = (  # values that a policy may be given
    *('""', "0", "1", "-1", "0.5", "1.5", "1e-300", "1e300", "nan", "inf", "true", "[]", "{}", '"a"', '"1/3"', '"1/0"'),
    *("[1, 2, 3]", '["a", "b"]', '["a", "a"]', "[[1]]", "{ width = 5 }", "{ count = 3 }", "{ quantiles = 3 }", "07:30"),
    *("{ edges = [0, 5, 9] }", "{ prefix = [2, 1] }", "{ width = [5, 10] }", '{ date = ["year"] }', "{ c = 3, l = 2 }"),
    *('"tree.csv"', '"costs.csv"', '"table.csv"', '"."', '"\\u001b[2J"', '"none.csv"', "1979-05-27", "0.1" + "3" * 30),
    *(
        '"value"',
        '"suppress"',
        '"bin"',
        '"mean"',
        '"drop"',
        '"equal"',
        '"ordered"',
        '"hierarchical"',
        '"matrix"',
        "1e9",
    ),
)
KEYS = (
    *(
        "t",
        "n",
        "l",
        "entropy_l",
        "recursive",
        "alpha",
        "beta",
        "enhanced_beta",
        "delta",
        "distance",
        "hierarchy",
        "matrix",
    ),
    *(
        "bins",
        "publish",
        "order",
        "domain",
        "missing",
        "k",
        "keep",
        "identifiers",
        "person",
        "unlinkable",
        "others",
        "step",
    ),
    *("suppress", "top", "bottom", '"\\u001b[2J"', '"*"', '"^x$"', "quasi", "sensitive"),
)
BINS = ("{ width = 0.5 }", "{ count = 2 }", "{ quantiles = 3 }", "{ edges = [0, 2.5, 9] }", "{ width = 1e-320 }")
PLAUSIBLE = {  # settings that a steward might try, by the part of the policy
    "": {
        "k": ("1", "3", "24", "1000"),
        "suppress": ("0", "0.1", "1"),
        "missing": ('["", "flu", "3"]', '["25"]'),
        "keep": ('["zone"]', '["ill"]', '["age"]', '["name"]'),
        "unlinkable": ('["pay"]', '["zone"]'),
        "identifiers": ("[]", '["zone"]'),
        "person": ('"name"', '"zone"'),
        "others": ('"drop"', '"error"'),
    },
    "[quasi": {
        "step": ("1", "10", "0.5", "1e6", "1e-300"),
        "top": ("30", "100"),
        "bottom": ("25", "-5"),
        "hierarchy": ('"zones.csv"', "{ prefix = [3, 1] }", "{ width = [2, 4] }", '{ rows = [["north", "*"]] }'),
        "publish": ('"mean"',),
    },
    "[sensitive": {
        "t": ("0", "1", "0.05", "0.9", '"1/3"', "1e-300", "0.999999999999"),
        "l": ("1", "2", "5"),
        "entropy_l": ("1", "1.5", "3"),
        "recursive": ("{ c = 0.5, l = 2 }", "{ c = 3.12345678901234567890123, l = 3 }"),
        "alpha": ("0.2", "0.5", "1"),
        "beta": ("0.1", "5"),
        "enhanced_beta": ("0.5", "2"),
        "delta": ("0.5", "3"),
        "n": ("1", "10", "500"),
        "missing": ('"value"', '"suppress"'),
        "distance": ('"equal"', '"ordered"', '"value"'),
        "bins": BINS,
        "publish": ('"bin"',),
        "hierarchy": ('"tree.csv"', "{ prefix = [3, 1] }", "{ width = [2, 4] }"),
        "matrix": ('"costs.csv"',),
        "domain": ("[1, 2, 3, 4, 5.5, 6]", '["flu", "cold", "ulcer", "gastritis", "x"]'),
        "order": ("[5.5, 4, 3, 2, 1]", '["flu", "cold", "ulcer", "gastritis"]'),
    },
}
FIGURES = (
    None,
    True,
    False,
    0,
    -1,
    2,
    10**30,
    0.5,
    -0.0,
    1e308,
    "",
    "1/4",
    "0/0",
    "\x1b[2J",
    "rows",
    "persons",
    [],
    {},
    [1],
)

Change = Callable[[bytes, Random], bytes]


def several(changes: tuple[Change, ...], data: bytes, random: Random) -> bytes:
    """Apply a few changes, one after the other; often only one."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        data = random.choice(changes)(data, random)
    return data


def _span(data: bytes, random: Random) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, min(len(data), start + random.choice((1, 1, 2, 4, 16, 200)))


def flip(data: bytes, random: Random) -> bytes:
    """Change one byte."""
    place = random.randrange(max(len(data), 1))
    return data[:place] + bytes([random.randrange(256)]) + data[place + 1 :]


def flip_near_the_end(data: bytes, random: Random) -> bytes:
    """Change one byte of the last kilobyte, where Parquet and Arrow keep their footers."""
    cut = max(0, len(data) - 1000)
    return data[:cut] + flip(data[cut:], random)


def flip_bit(data: bytes, random: Random) -> bytes:
    """Change one bit."""
    place = random.randrange(max(len(data), 1))
    return (
        data[:place] + bytes(byte ^ (1 << random.randrange(8)) for byte in data[place : place + 1]) + data[place + 1 :]
    )


def extreme_number(data: bytes, random: Random) -> bytes:
    """Write a huge or a negative number of four or eight bytes over others."""
    place = random.randrange(max(len(data), 1))
    number = random.choice(
        (b"\xff" * 4, b"\xff" * 8, b"\x00" * 8, b"\xff\xff\xff\x7f", b"\xff" * 7 + b"\x7f", b"\x80" * 9)
    )
    return data[:place] + number + data[place + len(number) :]


def cut(data: bytes, random: Random) -> bytes:
    """Leave some bytes out."""
    start, end = _span(data, random)
    return data[:start] + data[end:]


def truncate(data: bytes, random: Random) -> bytes:
    """Keep the beginning only."""
    return data[: random.randrange(len(data) + 1)]


def repeat(data: bytes, random: Random) -> bytes:
    """Say some bytes twice."""
    start, end = _span(data, random)
    return data[:end] + data[start:end] + data[end:]


def insert(data: bytes, random: Random) -> bytes:
    """Put something unusual between two bytes."""
    place = random.randrange(len(data) + 1)
    return data[:place] + random.choice(TOKENS) + data[place:]


def swap_lines(data: bytes, random: Random) -> bytes:
    """Exchange two lines."""
    lines = data.splitlines(keepends=True) or [b""]
    i, j = random.randrange(len(lines)), random.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return b"".join(lines)


def repeat_line(data: bytes, random: Random) -> bytes:
    """Say a line twice."""
    lines = data.splitlines(keepends=True) or [b""]
    place = random.randrange(len(lines))
    return b"".join([*lines[: place + 1], lines[random.randrange(len(lines))], *lines[place + 1 :]])


def drop_line(data: bytes, random: Random) -> bytes:
    """Leave a line out."""
    lines = data.splitlines(keepends=True) or [b""]
    del lines[random.randrange(len(lines))]
    return b"".join(lines)


def change_cell(data: bytes, random: Random) -> bytes:
    """Put something unusual in place of a cell, in quotes or not."""
    ends = [found.start() for found in re.finditer(rb"[,;\t\n]", data)]
    if len(ends) < 2:
        return insert(data, random)
    place = random.randrange(len(ends) - 1)
    token = random.choice(TOKENS)
    quoted = b'"' + token.replace(b'"', b'""') + b'"' if random.random() < 0.3 else token
    return data[: ends[place] + 1] + quoted + data[ends[place + 1] :]


def copy_cell(data: bytes, random: Random) -> bytes:
    """Put one cell in place of another."""
    ends = [found.start() for found in re.finditer(rb"[,;\t\n]", data)]
    if len(ends) < 3:
        return data
    i, j = random.randrange(len(ends) - 1), random.randrange(len(ends) - 1)
    return data[: ends[i] + 1] + data[ends[j] + 1 : ends[j + 1]] + data[ends[i + 1] :]


def change_separators(data: bytes, random: Random) -> bytes:
    """Use another separator, everywhere."""
    return data.replace(random.choice((b",", b";")), random.choice((b";", b"\t", b",", b"|")))


def change_line_ends(data: bytes, random: Random) -> bytes:
    """Use other line ends."""
    return data.replace(b"\n", random.choice((b"\r\n", b"\r", b"\n\n", b"\n ")))


def change_setting(data: bytes, random: Random) -> bytes:
    """Give a key of a policy another value."""
    lines = data.decode("utf-8", "replace").splitlines()
    places = [i for i, line in enumerate(lines) if "=" in line]
    if places:
        place = random.choice(places)
        lines[place] = f"{lines[place].partition('=')[0]}= {random.choice(SETTINGS)}"
    return "\n".join(lines).encode()


def add_setting(data: bytes, random: Random) -> bytes:
    """Add a key to a policy."""
    lines = data.decode("utf-8", "replace").splitlines()
    lines.insert(random.randrange(len(lines) + 1), f"{random.choice(KEYS)} = {random.choice(SETTINGS)}")
    return "\n".join(lines).encode()


def plausible_setting(data: bytes, random: Random) -> bytes:
    """Set a key of one part of a policy to something that may well be meant."""
    parts = re.split(r"(?m)^(?=\[)", data.decode("utf-8", "replace"))
    place = random.randrange(len(parts))
    known = next(keys for part, keys in reversed(PLAUSIBLE.items()) if parts[place].startswith(part))
    key = random.choice(list(known))
    lines = [line for line in parts[place].splitlines() if line.partition("=")[0].strip() != key]
    lines.insert(1 if lines and lines[0].startswith("[") else 0, f"{key} = {random.choice(known[key])}")
    parts[place] = "\n".join(lines) + "\n"
    return "".join(parts).encode()


def drop_setting(data: bytes, random: Random) -> bytes:
    """Leave out a key of a policy."""
    lines = data.splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if b"=" in line]
    if places:
        del lines[random.choice(places)]
    return b"".join(lines)


def change_json(data: bytes, random: Random) -> bytes:
    """Change, add or leave out one value of a JSON document; sometimes make its digest right again."""
    try:
        content = json.loads(data)
    except ValueError:
        return data
    place: Any = content
    for _ in range(random.randrange(6)):
        inner = [
            part for part in (place.values() if isinstance(place, dict) else place) if isinstance(part, dict | list)
        ]
        if not inner:
            break
        place = random.choice(inner)
    _change_one(place, random)
    if isinstance(content, dict) and random.random() < 0.5:
        content.pop("digest", None)
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        content["digest"] = hashlib.sha256(canonical.encode()).hexdigest()
    return json.dumps(content, indent=2, ensure_ascii=False).encode()


def _change_one(place: Any, random: Random) -> None:
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    if not keys:
        return
    key, odd, what = random.choice(keys), random.choice(TOKENS).decode("utf-8", "replace"), random.random()
    if what < 0.2:
        del place[key]
    elif what < 0.4 and isinstance(place, dict):
        place[random.choice((random.choice(KEYS), key + odd, odd))] = place.pop(key)
    elif what < 0.8 and isinstance(place[key], str):
        place[key] = random.choice((odd, place[key] + odd))
    else:
        place[key] = random.choice(FIGURES)


BYTES: tuple[Change, ...] = (flip, flip_bit, cut, repeat, insert, truncate)
TEXT: tuple[Change, ...] = (*BYTES, insert, swap_lines, repeat_line, drop_line, change_cell, change_cell, copy_cell)
TABLE: tuple[Change, ...] = (*TEXT, change_cell, change_separators, change_line_ends)
GENTLE: tuple[Change, ...] = (swap_lines, repeat_line, drop_line, *3 * (copy_cell,), change_cell)
TOML: tuple[Change, ...] = (insert, cut, swap_lines, repeat_line, drop_line, *3 * (change_setting, add_setting))
GENTLE_TOML: tuple[Change, ...] = (drop_setting, *3 * (plausible_setting,))
JSON: tuple[Change, ...] = (flip, cut, insert, truncate, *6 * (change_json,))
BINARY: tuple[Change, ...] = (*BYTES, flip, flip_bit, flip_near_the_end, flip_near_the_end, extreme_number)
