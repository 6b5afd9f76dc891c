"""The invented hospital: a table of patients, a policy for it, and the files of the demonstration."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.types import Floats

Codes = NDArray[np.int64]

AGES = np.arange(96)
SEXES = ("female", "male")

WOMEN = (
    "Mary", "Patricia", "Linda", "Susan", "Karen", "Lisa", "Nancy", "Sandra", "Ashley", "Emily", "Donna",
    "Michelle", "Carol", "Amanda", "Laura", "Rosa", "Angela", "Emma", "Anna", "Nicole", "Maria", "Aisha", "Mei",
    "Priya",
)  # fmt: skip
MEN = (
    "James", "Robert", "John", "Michael", "David", "William", "Thomas", "Carlos", "Daniel", "Matthew", "Anthony",
    "Mark", "Steven", "Paul", "Andrew", "Joshua", "Kevin", "Brian", "George", "Jason", "Luis", "Omar", "Wei",
    "Arjun",
)  # fmt: skip
SURNAMES = (
    "Smith", "Johnson", "Williams", "Brown", "Jones", "Garcia", "Miller", "Davis", "Rodriguez", "Martinez",
    "Hernandez", "Lopez", "Wilson", "Anderson", "Thomas", "Taylor", "Moore", "Jackson", "Martin", "Lee", "Perez",
    "Thompson", "White", "Harris", "Sanchez", "Clark", "Ramirez", "Lewis", "Robinson", "Walker", "Young", "Allen",
    "King", "Wright", "Scott", "Torres", "Nguyen", "Hill", "Flores", "Green", "Adams", "Nelson", "Baker", "Hall",
    "Rivera", "Campbell", "Mitchell", "Carter", "Phillips", "Evans", "Turner", "Diaz", "Parker", "Cruz", "Murphy",
    "Patel", "Kim", "Cohen", "Khan", "Okafor",
)  # fmt: skip

# No social security number starts with 9, and no taxpayer number that does has 00 to 49 in the middle.
SSN_HEADS = [f"9{area:02d}-{group:02d}-" for area in range(100) for group in range(50)]
SSN_TAILS = [f"{serial:04d}" for serial in range(10_000)]
SSN_COUNT = len(SSN_HEADS) * len(SSN_TAILS)

# First three digits of a region's ZIP codes, and its share of the patients.
REGIONS = {
    "010": 4, "014": 2, "018": 5, "021": 14, "024": 9, "027": 4, "029": 6, "060": 6, "064": 4,
    "100": 9, "104": 7, "112": 10, "117": 6, "191": 7, "212": 4, "222": 3,
}  # fmt: skip
ZIPS_PER_REGION = 25

ADMISSION_KNOTS = (0, 1, 5, 15, 20, 40, 60, 75, 85, 95)
ADMISSIONS = (1.0, 0.5, 0.3, 0.25, 0.45, 0.7, 1.1, 1.3, 0.8, 0.15)

SEX_KNOTS = (0, 18, 40, 70, 95)
SEX_SHARES = ((0.48, 0.53, 0.53, 0.50, 0.66), (0.52, 0.47, 0.47, 0.50, 0.34))

EDUCATION_KNOTS = (0, 5, 6, 14, 15, 18, 21, 25, 45, 70, 95)
EDUCATION = {
    "none": (1.0, 1.0, 0.0, 0.0, 0.0, 0.01, 0.01, 0.01, 0.02, 0.04, 0.08),
    "primary": (0.0, 0.0, 1.0, 1.0, 0.3, 0.06, 0.05, 0.05, 0.06, 0.12, 0.25),
    "high school": (0.0, 0.0, 0.0, 0.0, 0.7, 0.80, 0.50, 0.30, 0.28, 0.36, 0.40),
    "some college": (0.0, 0.0, 0.0, 0.0, 0.0, 0.13, 0.44, 0.34, 0.26, 0.22, 0.15),
    "bachelor": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.24, 0.24, 0.16, 0.08),
    "graduate": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.06, 0.14, 0.10, 0.04),
}

STATUS_KNOTS = (0, 5, 6, 17, 18, 30, 55, 70, 95)
STATUS = {
    "child": (1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    "student": (0.0, 0.0, 1.0, 1.0, 0.6, 0.05, 0.0, 0.0, 0.0),
    "unemployed": (0.0, 0.0, 0.0, 0.0, 0.08, 0.10, 0.10, 0.02, 0.0),
    "retired": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.05, 0.85, 1.0),
}
# A job's weight among those who work, by education from none to graduate; then how much likelier women take it.
JOBS = {
    "service": ((8, 7, 5, 3, 1, 0.3), 1.3),
    "trades": ((8, 8, 5, 3, 0.5, 0.2), 0.15),
    "office": ((0.5, 1, 4, 5, 5, 3), 1.2),
    "health care": ((0.2, 0.5, 1.5, 3, 3, 4), 2.5),
    "teaching": ((0, 0, 0.3, 1, 3, 4), 2.2),
    "technology": ((0, 0.1, 0.6, 2, 4, 4), 0.4),
}


@dataclass(frozen=True)
class Lab:
    """A laboratory value: what is normal at each of `LAB_KNOTS`, for women and for men, and how it is printed."""

    name: str
    women: tuple[float, ...]
    men: tuple[float, ...]
    spread: float
    low: float
    high: float
    decimals: int = 0


LAB_KNOTS = (0, 12, 20, 45, 65, 95)
LABS = (
    Lab("ldl", (68, 90, 98, 116, 138, 122), (68, 90, 104, 134, 124, 102), spread=0.21, low=25, high=320),
    Lab("hdl", (50, 55, 57, 60, 63, 62), (50, 52, 45, 44, 46, 48), spread=0.20, low=15, high=120),
    Lab("hemoglobin", (12.4, 13.3, 13.5, 13.5, 13.4, 12.5), (12.4, 13.5, 15.2, 15.1, 14.5, 13.2),
        spread=0.09, low=4, high=20, decimals=1),
    Lab("systolic", (84, 104, 112, 121, 136, 142), (84, 105, 120, 128, 135, 138), spread=0.14, low=60, high=270),
    Lab("glucose", (82, 88, 90, 97, 104, 106), (82, 88, 92, 100, 107, 108), spread=0.26, low=40, high=600),
)  # fmt: skip
# How the rest hangs together, once age, sex and diagnosis are known; the last one is the length of stay.
CORRELATION = (
    (1.00, -0.20, 0.15, 0.15, 0.10, 0.00),
    (-0.20, 1.00, 0.00, -0.10, -0.30, -0.10),
    (0.15, 0.00, 1.00, 0.15, 0.00, -0.30),
    (0.15, -0.10, 0.15, 1.00, 0.20, 0.05),
    (0.10, -0.30, 0.00, 0.20, 1.00, 0.25),
    (0.00, -0.10, -0.30, 0.05, 0.25, 1.00),
)
STAY_SPREAD = 0.5
CHARGE_SPREAD = 0.25


@dataclass(frozen=True)
class Diagnosis:
    """A diagnosis: how common, at which age and in whom, how it moves each of `LABS`, and what it takes to treat."""

    leaf: str
    share: float
    age: float
    age_spread: float
    women_per_man: float
    shifts: tuple[float, float, float, float, float]
    days: float
    dollars: float
    dollars_per_day: float


DIAGNOSES = (
    Diagnosis("myocardial infarction", 9, 68, 13, 0.6, (28, -9, -0.2, 6, 18), 4.5, 14000, 3200),
    Diagnosis("heart failure", 9, 78, 11, 0.9, (-10, -4, -1.3, -6, 12), 5.5, 6000, 2300),
    Diagnosis("stroke", 7, 74, 13, 1.0, (20, -5, 0.0, 24, 16), 6.0, 9000, 2700),
    Diagnosis("hypertensive crisis", 5, 62, 16, 1.2, (10, -2, 0.2, 48, 8), 2.5, 4000, 1900),
    Diagnosis("type 1 diabetes", 4, 22, 16, 0.9, (0, 3, 0.0, 2, 125), 3.0, 3500, 2000),
    Diagnosis("type 2 diabetes", 10, 62, 14, 0.8, (-6, -10, -0.5, 8, 85), 4.0, 4500, 2000),
    Diagnosis("hypothyroidism", 3, 58, 18, 4.0, (42, 4, -0.9, 4, 2), 2.5, 3000, 1700),
    Diagnosis("hyperthyroidism", 2, 45, 16, 3.5, (-32, -4, -0.2, 9, 10), 2.5, 3500, 1800),
    Diagnosis("pneumonia", 8, 62, 42, 0.9, (-26, -9, -0.7, -5, 12), 5.0, 4500, 2100),
    Diagnosis("bronchitis", 6, 10, 35, 0.9, (-8, -3, -0.2, 0, 4), 2.5, 2500, 1600),
    Diagnosis("asthma", 6, 18, 26, 1.1, (0, 2, 0.1, 2, 8), 2.0, 2800, 1700),
    Diagnosis("obstructive lung disease", 8, 71, 10, 0.9, (-4, 8, 0.8, 2, 10), 4.5, 4500, 2000),
    Diagnosis("gastric ulcer", 5, 62, 17, 0.8, (-10, -3, -3.2, -11, 5), 4.0, 6500, 2300),
    Diagnosis("gastritis", 5, 42, 22, 1.2, (0, 0, -0.5, -1, 2), 2.0, 2800, 1600),
    Diagnosis("colitis", 5, 34, 16, 1.1, (-16, -5, -1.6, -4, 3), 5.0, 5000, 2000),
    Diagnosis("colon cancer", 5, 70, 12, 0.85, (-14, -6, -2.6, -2, 7), 7.0, 17000, 2600),
)


def hospital(rows: int, *, seed: int = 0) -> pl.DataFrame:
    """Make a hospital table of `rows` patients; the same rows and seed give the same table.

    >>> table = hospital(1000, seed=7)
    >>> table.shape
    (1000, 15)
    >>> table.equals(hospital(1000, seed=7))
    True
    """
    if not 1 <= rows <= SSN_COUNT:
        raise ValueError(f"rows is {rows:,}: ask for 1 to {SSN_COUNT:,} rows")
    rng = np.random.default_rng(seed)
    everyone = np.zeros(rows, dtype=np.int64)
    zips, zip_weights = _zips()
    age = _draw(rng, _by_age(ADMISSION_KNOTS, [ADMISSIONS]).T, everyone)
    sex = _draw(rng, _by_age(SEX_KNOTS, SEX_SHARES), age)
    education = _draw(rng, _by_age(EDUCATION_KNOTS, EDUCATION.values()), age)
    occupation = _draw(rng, _occupation_weights(), (education * len(SEXES) + sex) * len(AGES) + age)
    diagnosis = _draw(rng, _diagnosis_weights(), sex * len(AGES) + age)
    *lab_noise, stay_noise = _noise(rng, rows)
    length_of_stay = _length_of_stay(age, diagnosis, stay_noise)
    return pl.DataFrame(
        {
            "name": _names(rng, sex),
            "ssn": _ssns(rng, rows),
            "zip": _text(zips, _draw(rng, zip_weights, everyone)),
            "age": age,
            "sex": _text(SEXES, sex),
            "education": _text(EDUCATION, education),
            "occupation": _text([*STATUS, *JOBS], occupation),
            **{
                lab.name: _lab_values(lab, age, sex, diagnosis, noise)
                for lab, noise in zip(LABS, lab_noise, strict=True)
            },
            "length_of_stay": length_of_stay,
            "charges": _charges(rng, diagnosis, length_of_stay),
            "diagnosis": _text([each.leaf for each in DIAGNOSES], diagnosis),
        }
    )


def _draw(rng: np.random.Generator, weights: Floats, cells: Codes) -> Codes:
    """Draw an option for each row, with the weights (cells × options) of the row's cell."""
    # In whole ticks, not floats: an option of weight 0 is then never drawn.
    ticks = 1 << 30
    below = np.cumsum(weights, axis=1)
    starts = np.arange(len(weights)) * ticks
    ends = starts[:, None] + np.rint(below / below[:, -1:] * ticks).astype(np.int64)
    drawn = starts[cells] + rng.integers(ticks, size=len(cells))
    options: Codes = np.searchsorted(ends.ravel(), drawn, side="right") - cells * weights.shape[1]
    return options


def _by_age(knots: Sequence[float], curves: Iterable[Sequence[float]]) -> Floats:
    """Return ages × curves, each curve drawn straight from knot to knot."""
    return np.stack([np.interp(AGES, knots, curve) for curve in curves], axis=1)


def _text(options: Collection[str], codes: Codes) -> pl.Series:
    return pl.Series(list(options), dtype=pl.String).gather(codes)


def _names(rng: np.random.Generator, sex: Codes) -> pl.Series:
    names = [f"{first} {last}" for first in (*WOMEN, *MEN) for last in SURNAMES]
    first = rng.integers(np.where(sex == 0, len(WOMEN), len(MEN))) + sex * len(WOMEN)
    return _text(names, first * len(SURNAMES) + rng.integers(len(SURNAMES), size=len(sex)))


def _ssns(rng: np.random.Generator, rows: int) -> pl.Series:
    # SSN_COUNT has no prime factors but 2 and 5, so a step that ends in 7 visits every number once.
    step = 10 * rng.integers(SSN_COUNT // 10) + 7
    number = (rng.integers(SSN_COUNT) + step * np.arange(rows)) % SSN_COUNT
    heads, tails = rng.permutation(SSN_HEADS).tolist(), rng.permutation(SSN_TAILS).tolist()
    return _text(heads, number // len(tails)) + _text(tails, number % len(tails))


def _zips() -> tuple[list[str], Floats]:
    zips = [f"{region}{place:02d}" for region in REGIONS for place in range(1, ZIPS_PER_REGION + 1)]
    sizes = 1 / np.arange(2, ZIPS_PER_REGION + 2)  # a town centre, then ever smaller places
    return zips, np.outer(list(REGIONS.values()), sizes).reshape(1, -1)


def _occupation_weights() -> Floats:
    """Return (education, sex, age) × occupations."""
    status = _by_age(STATUS_KNOTS, STATUS.values())
    jobs = np.array([[[weight * women, weight] for weight in weights] for weights, women in JOBS.values()])
    jobs = np.moveaxis(jobs / jobs.sum(axis=0), 0, -1)
    working = (1 - status.sum(axis=1))[:, None] * jobs[:, :, None, :]
    resting = np.broadcast_to(status, (*working.shape[:3], len(STATUS)))
    weights = np.concatenate([resting, working.clip(0)], axis=3)
    return weights.reshape(-1, weights.shape[3])


def _diagnosis_weights() -> Floats:
    """Return (sex, age) × diagnoses."""
    share, age, spread, women = np.array([(d.share, d.age, d.age_spread, d.women_per_man) for d in DIAGNOSES]).T
    at_age = share * np.exp(-(((AGES[:, None] - age) / spread) ** 2) / 2)
    return np.concatenate([at_age * women / (1 + women), at_age / (1 + women)])


def _noise(rng: np.random.Generator, rows: int) -> Floats:
    root: Floats = np.linalg.cholesky(np.array(CORRELATION))
    return root @ rng.standard_normal((len(root), rows))


def _lab_values(lab: Lab, age: Codes, sex: Codes, diagnosis: Codes, noise: Floats) -> pl.Series:
    normal = _by_age(LAB_KNOTS, [lab.women, lab.men])[age, sex]
    shift = np.array([each.shifts[LABS.index(lab)] for each in DIAGNOSES])[diagnosis]
    value = ((normal + shift) * np.exp(lab.spread * noise)).clip(lab.low, lab.high).round(lab.decimals)
    return pl.Series(value if lab.decimals else value.astype(np.int64))


def _length_of_stay(age: Codes, diagnosis: Codes, noise: Floats) -> Codes:
    days = np.array([each.days for each in DIAGNOSES])[diagnosis] * (0.75 + age / 250)
    return np.rint(days * np.exp(STAY_SPREAD * noise)).clip(1).astype(np.int64)


def _charges(rng: np.random.Generator, diagnosis: Codes, length_of_stay: Codes) -> Codes:
    fixed, daily = np.array([(each.dollars, each.dollars_per_day) for each in DIAGNOSES]).T
    noise = rng.standard_normal(len(diagnosis))
    dollars: Floats = (fixed[diagnosis] + daily[diagnosis] * length_of_stay) * np.exp(CHARGE_SPREAD * noise)
    return np.rint(dollars).astype(np.int64)


__all__ = ["hospital"]


NAMES = ("hospital.csv", "policy.toml", "diagnosis.csv")


def write_example(folder: Path, *, rows: int, seed: int) -> tuple[Path, Path]:
    """Write the table, the policy and the hierarchy; return the paths of the first two."""
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / NAMES[0]
    with table.open("wb") as file:  # polars takes no path that is not UTF-8
        hospital(rows, seed=seed).write_csv(file)
    for name in NAMES[1:]:
        with as_file(files("tclose.examples") / name) as source:
            shutil.copyfile(source, folder / name)
    return table, folder / "policy.toml"
