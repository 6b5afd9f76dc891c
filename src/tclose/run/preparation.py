"""What comes before a release: a look at a table, a draft of its policy, the methods, and what a setting would mean.

The previews are quick answers for a screen that follows the steward; nothing is released for them.
"""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tclose.distance import Metric
from tclose.distance.worst_class import most, worst_class
from tclose.errors import InputError, TcloseError
from tclose.messages import say
from tclose.partition import METHODS, Method, method_and_options
from tclose.partition.options import options_from_texts
from tclose.policy import Policy, PolicyLike, SourceSettings
from tclose.policy.draft import Draft, with_told
from tclose.policy.draft.guesses import ASKED
from tclose.policy.settings import exact
from tclose.privacy.allowance import Allowance, allowance_of_domain
from tclose.release.files import check_targets, write_whole
from tclose.release.output import sources_of
from tclose.run.study import as_drafted, as_frame, as_release
from tclose.table import to_polars
from tclose.table.coded import Combinations, combinations_by_level
from tclose.table.hierarchies import Hierarchy
from tclose.table.looks import ReleaseLook, TableLook, drafted, look_at, look_into
from tclose.table.sensitive import SensitiveDomain
from tclose.table.values import Tally, ValueDomain
from tclose.types import Floats, Ints, Progress, silent, stretch
from tclose.words import number, percent

# Preview: what a t allows in a column, in its own shares, below every t of a draft and beside a slider


HERE = Path()
NO_COLUMN = "\0"  # a policy needs a quasi-identifier; nothing is read of it here


def with_shares(frame: Any, draft: Draft) -> Draft:
    """Add to the draft of a table what a t of 0.05, 0.1 and 0.2 would allow in each sensitive column."""
    given = tomllib.loads(draft.policy)
    told = {name: _told(frame, given, name) for name in given.get("sensitive", {})}
    return replace(draft, policy=with_told(draft.policy, told)) if any(told.values()) else draft


def allowed_by(column: Mapping[str, Any], setting: Mapping[str, Any], k: int, folder: Path) -> Allowance | None:
    """Return what the t of a setting allows in a column that was looked at; None where that is not known.

    `folder` holds the files that the setting names.
    """
    if not column["counted"]:
        return None
    missing = column["missing"] if setting.get("missing") == "value" else 0
    tally = Tally.of_texts(column["name"], column["counted"], missing)
    idle = {"t_by"} if setting.get("bins") else {"t_by", "publish"}  # of other columns, or of bins that are not there
    own = {name: value for name, value in setting.items() if name not in idle and value is not None}
    return _allowed(tally, {"k": k, "missing": []}, own, folder)


def _told(frame: Any, given: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return what some levels of t would allow in one column; nothing where the draft cannot be read as it is."""
    tally, own = Tally.of(frame[name]), given["sensitive"][name]
    allowed = [_allowed(tally, given, {**own, "t": t}) for t in ASKED]
    return _sentences([each for each in allowed if each is not None])


def _allowed(
    tally: Tally, given: Mapping[str, Any], setting: Mapping[str, Any], folder: Path = HERE
) -> Allowance | None:
    asked = {"quasi": [NO_COLUMN], "k": given["k"], "missing": given["missing"], "sensitive": {tally.name: setting}}
    try:
        policy = Policy.from_dict(asked, folder=folder)
        domain = SensitiveDomain.of(tally, policy.sensitive[tally.name], policy.missing)
    except TcloseError:
        return None
    return allowance_of_domain(domain, policy)


def _sentences(allowed: Sequence[Allowance]) -> tuple[str, ...]:
    if not allowed:
        return ()
    first = allowed[0]
    most = ", ".join(
        say("{share} with t = {t}", share=percent(float(each.most_up)), t=number(each.t)) for each in allowed
    )
    said: list[str] = [
        say(
            "In a class, {of} ({share} of the rows) can be at most {most}.",
            of=say(first.of),
            share=percent(float(first.share)),
            most=most,
        )
    ]
    ends = [part for part in (first.alone, first.below) if part]
    said.append(f"{'; '.join(ends).capitalize()}.")
    return tuple(said)


# A look, a draft, the methods and the installation


def init(table: Any, *, out: str | Path | None = None, force: bool = False) -> Draft:
    """Draft a policy for a table: roles are guessed and explained, every t is left open.

    Without `force`, `out` must be a new file.
    """
    if out is not None:
        check_targets([Path(out)], sources_of(table), force=force)
    given = as_drafted(table)
    _, draft = drafted(to_polars(given.frame), given.source, given.questions, given.described)
    draft = with_shares(to_polars(given.frame), draft)
    if out is not None:
        _write(Path(out), draft.policy, force=force)
    return draft


def look(
    table: Any, *, source: SourceSettings | None = None, detect: bool = False, progress: Progress = silent
) -> TableLook:
    """Show a table to its steward: the first rows as they are, and what each column holds and may be.

    `source` says how the file is written; without it, that is detected. With `detect`, it may say a part of it.
    """
    progress(0.0, "reading")
    given = as_drafted(table, source, detect=detect)
    progress(0.3, "looking at the columns")
    return look_at(to_polars(given.frame), given.source, given.questions, given.described)


@contextmanager
def files_kept() -> Iterator[None]:
    """Keep what is read, and the processes that read, for a process that works on one owner's files again and again."""
    from tclose.run.study import tables_kept
    from tclose.table.sources.door import kept_open

    with kept_open(), tables_kept():
        yield


def look_inside(release: Any, policy: PolicyLike, *, class_number: int = 1, progress: Progress = silent) -> ReleaseLook:
    """Show one class of a release of one table closely to its steward."""
    asked = Policy.of(policy)
    progress(0.0, "reading")
    frame = as_release(release, asked).frame
    attributes = [name for name in asked.sensitive if name in frame.columns]
    progress(0.5, "looking at the class")
    return look_into(frame, asked.visible, attributes, class_number)


def _write(path: Path, text: str, *, force: bool) -> None:
    """Write a file whole or not at all."""
    try:
        write_whole(path, text.encode(), force=force)
    except OSError as error:
        raise InputError("the draft cannot be written: {why}", why=error.strerror or error) from None


def methods() -> Mapping[str, Method]:
    """Return every method by its name, with what it does and what it can serve."""
    return METHODS


def method_options(method: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of a method or variant, given as texts; what it does not have is refused."""
    name, preset = method_and_options(method)
    return {**preset, **options_from_texts(name, texts)}


def warm(*, progress: Progress = silent) -> int:
    """Compile the kernels of all methods, of `bound` and of `attack` ahead; return how many were missing."""
    from tclose.partition.warm import warm as compile_all
    from tclose.run.installation import warm_bound, warm_exchange

    return compile_all(progress) + warm_bound(progress) + warm_exchange(progress)


# Hierarchies for an editor: the values of a column, the rows of a file, and a file of edited rows


MOST_VALUES = 2000  # that an editor shows


def column_values(
    table: Any, policy: PolicyLike, column: str, *, most: int = MOST_VALUES, progress: Progress = silent
) -> list[tuple[str, int]]:
    """Return the different values of a column in their order, with the rows that show each; too many are refused."""
    asked = Policy.of(policy)
    progress(0.0, "reading")
    frame = to_polars(as_frame(table, asked))
    if column not in frame.columns:
        raise InputError("there is no such column")
    domain = ValueDomain.of(Tally.of(frame[column]), asked.missing, asked.below.get(column))
    if len(domain.texts) > most:
        raise InputError(
            "the column has {count:,} different values, and the editor shows at most {most:,}: choose first "
            "letters, ranges or dates, or give the hierarchy as a file",
            count=len(domain.texts),
            most=most,
        )
    return list(zip(domain.texts, np.asarray(domain.counts).tolist(), strict=True))


def hierarchy_rows(path: str | Path) -> list[tuple[str, ...]]:
    """Return the rows of a hierarchy file, each from a value to the root; what is no hierarchy is refused."""
    return Hierarchy.load(Path(path)).rows()


def hierarchy_text(rows: Sequence[Sequence[str]]) -> str:
    """Return the content of a hierarchy file (value;level 1;…;*); rows that are no hierarchy are refused.

    >>> hierarchy_text([("flu", "lungs", "*"), ("ulcer", "stomach", "*")]).splitlines()
    ['flu;lungs;*', 'ulcer;stomach;*']
    """
    Hierarchy.from_rows(rows)
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(rows)
    return text.getvalue()


def preview_classes(table: Any, policy: PolicyLike, *, progress: Progress = silent) -> list[Combinations]:
    """Count the combinations of quasi-identifiers at every level of their hierarchies; no class is made."""
    asked = Policy.of(policy)
    progress(0.0, "reading")
    frame = to_polars(as_frame(table, asked))
    counting = stretch(progress, 0.5, 1.0, "counting combinations")
    return combinations_by_level(frame, asked, counting)


# Preview: the worst class that a t allows


LINES = ("ordered", "value", "quantiles")
FINE = 1_000_000  # parts of the distance between the ends of a line, to which bars are placed
Direction = Literal["value", "low", "high"]


@dataclass(frozen=True)
class WorstClass:
    """The distribution of a table, and the one of the worst class that t allows, over the same bars."""

    labels: tuple[str, ...]
    table: tuple[float, ...]
    own: tuple[float, ...]
    place: int  # the bar that the class shows most
    leans: Direction  # whether that bar is one end of a line

    @property
    def before(self) -> float:
        """The share of the chosen bar in the table."""
        return self.table[self.place]

    @property
    def after(self) -> float:
        """Its share in the worst class."""
        return self.own[self.place]


def worst_allowed(
    bars: Sequence[Mapping[str, Any]], distance: str, t: float, *, hierarchy: str | Path | None = None
) -> WorstClass:
    """Return the worst class that a t allows, over the bars of a look at the table.

    The distance is that of the policy; "quantiles" stands for one between bins of equally many rows. The class shows
    the bar whose share rises most, at the end of a line or inside it; of bars that rise as much, the rarest. Each bar
    counts as one value, so the answer is exact where every bar is one value and close to it elsewhere.

    >>> bars = [{"label": "no", "rows": 80}, {"label": "yes", "rows": 20}]
    >>> worst_allowed(bars, "equal", 0.1).after
    0.3
    """
    rows = np.array([bar["rows"] for bar in bars], dtype=np.int64)
    if not rows.sum():
        raise InputError("there are no values to draw")
    metric, level = _between(bars, rows, distance, hierarchy), exact(t)
    place = _rises_most(metric, rows, level)
    own = worst_class(metric, rows, place, level)
    ends = {0: "low", len(bars) - 1: "high"} if distance in LINES else {}
    leans: Any = ends.get(place, "value")
    shares = (rows / rows.sum()).tolist()
    return WorstClass(tuple(bar["label"] for bar in bars), tuple(shares), tuple(own.round(9).tolist()), place, leans)


def _rises_most(metric: Metric, rows: Ints, t: Fraction) -> int:
    """Return the bar whose share rises most in the class that shows it most."""
    shown, whole = np.flatnonzero(rows).tolist(), int(rows.sum())
    places = np.arange(len(rows))
    after = {place: most(metric, rows, places == place, t) for place in shown}
    return max(shown, key=lambda place: (after[place] - Fraction(int(rows[place]), whole), -int(rows[place])))


def _between(bars: Sequence[Mapping[str, Any]], rows: Ints, distance: str, hierarchy: str | Path | None) -> Metric:
    """Return how far bars are apart."""
    if distance == "equal":
        return Metric(1 - np.eye(len(bars), dtype=np.int64), 1)
    if distance == "quantiles":
        return _on_line((np.cumsum(rows) - rows / 2) / rows.sum())
    if distance in ("ordered", "value"):
        places = [bar.get("rank" if distance == "ordered" else "place") for bar in bars]
        known = np.array([number for number in places if number is not None], dtype=np.float64)
        return _on_line(known if len(known) == len(bars) else np.linspace(0.0, 1.0, len(bars)))
    if distance == "hierarchical" and hierarchy is not None:
        return _in_hierarchy(bars, Hierarchy.load(Path(hierarchy)))
    raise InputError("there is no drawing for this distance")


def _on_line(places: Floats) -> Metric:
    fine = (places * FINE).round().astype(np.int64)
    return Metric(np.abs(fine[:, None] - fine), FINE)


def _in_hierarchy(bars: Sequence[Mapping[str, Any]], hierarchy: Hierarchy) -> Metric:
    """Return the height at which bars meet; a bar of several values meets all others at the root."""
    paths = {path[0]: path for path in hierarchy.rows()}
    root = hierarchy.labels[-1][0]
    own = [paths.get(bar["label"], (*[bar["label"]] * hierarchy.height, root)) for bar in bars]
    levels = np.array([np.unique(labels, return_inverse=True)[1] for labels in zip(*own, strict=True)])
    apart = (levels[:, :, None] != levels[:, None, :]).sum(axis=0)
    return Metric(apart.astype(np.int64), max(len(levels) - 1, 1))
