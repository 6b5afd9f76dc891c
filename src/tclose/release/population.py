"""The population of a table: its rows, coded once, and the table coded by its values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tclose.errors import InputError, PolicyError
from tclose.policy import Policy
from tclose.recode.meaning import KnownValues
from tclose.table import CodedTable, encode_quietly, to_polars
from tclose.table.sources import read
from tclose.table.values import Values
from tclose.words import counted

NOT_HELD = "the population does not hold the table"


@dataclass(frozen=True, eq=False)
class Population:
    """The rows of a population, one per person, coded by the quasi-identifiers and kept columns of a policy."""

    table: CodedTable

    @classmethod
    def of(cls, given: Any, policy: Policy, like: CodedTable | None = None) -> Population:
        """Take a frame, or read a file, with numbers where the table has them; further columns are ignored."""
        asked = Policy(quasi=policy.quasi, keep=policy.keep, k=2, missing=policy.missing, others="drop")
        try:
            frame = to_polars(read(given, missing=policy.missing) if isinstance(given, str | Path) else given)
            population = cls(encode_quietly(frame, asked, ignore_others=True))
            if like is not None:
                population._check_like(like)
            _ = population.table.quasi  # codes them, so that mistakes are found now
        except (InputError, PolicyError) as error:
            sentence = error.sentence.replace("the table has no column", "it has no column")
            raise InputError(f"the population cannot be used: {sentence}", detail=error.detail) from None
        return population

    def _check_like(self, table: CodedTable) -> None:
        """Refuse a population with text where the table has numbers or dates."""
        for name in table.policy.visible:
            kind = table.values(name).kind
            if kind in ("number", "date") and self.table.values(name).kind != kind:
                raise InputError(f"its column '{name}' is not all {kind}s, as the table's is")

    def coded(self, table: CodedTable) -> CodedTable:
        """Return a part of the population with its values coded as the population's, so that both publish alike."""
        return replace(table, read={**table.read, **{name: self._among(table, name) for name in table.policy.visible}})

    def check_holds(self, table: CodedTable) -> None:
        """Refuse a table of which some rows are nobody's in the population, whatever is published."""
        part = self.coded(table)
        both = [
            np.concatenate([each.values(name).codes for each in (self.table, part)])
            for name in self.table.policy.visible
        ]
        _, kind = np.unique(np.stack(both, axis=1), axis=0, return_inverse=True)
        persons, rows = np.split(kind.reshape(-1), [len(self.table)])
        excess = np.bincount(rows, minlength=int(kind.max()) + 1) - np.bincount(persons, minlength=int(kind.max()) + 1)
        if strangers := int(excess[excess > 0].sum()):
            raise InputError(
                f"{NOT_HELD}: {counted(strangers, 'row')} of the table have quasi-identifiers and kept values that it "
                "does not show, or not as often"
            )

    def _among(self, table: CodedTable, name: str) -> Values:
        """Return the values of a table's column as values of the population."""
        own, whole = table.values(name), self.table.values(name)
        known = KnownValues.of(whole.domain)
        codes = np.array([*(_code(known, text) for text in own.texts), -1], dtype=np.int64)[own.codes]
        if strange := int(np.count_nonzero((codes < 0) & (own.codes >= 0))):
            raise InputError(f"{NOT_HELD}: {counted(strange, 'row')} show a value of '{name}' that it lacks")
        return Values(whole.domain, codes)


def _code(known: KnownValues, text: str) -> int:
    code = known.code(text)
    return -1 if code is None else code


def population_of(table: CodedTable, policy: Policy) -> Population | None:
    """Read the population of which the policy asks for δ-presence; None where it does not ask."""
    return None if policy.presence is None else Population.of(policy.presence.population, policy, table)


def in_population(table: CodedTable) -> CodedTable:
    """Return a table as its release codes it: by the values of its population, where its policy names one."""
    population = population_of(table, table.policy)
    return table if population is None else population.coded(table)
