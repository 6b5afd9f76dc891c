"""Look: both distributions are drawn, classes come worst first, and a class says why it is as it is."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tclose.studio import work
from tclose.types import silent

from .client import Browser
from .conftest import Running, wait_for
from .finished import KEY

LOOK = f"/p/{KEY}/inside"


def candidate(home: Path, number: int = 2) -> Path:
    return home / ".tclose" / "studio" / KEY / "candidates" / f"{number:04}"


def listed(text: str) -> list[int]:
    """Return the numbers of the classes, as they are listed."""
    return [int(number) for number in re.findall(r'name="class" value="(\d+)"', text)]


def test_every_column_shows_both_distributions_and_how_far_they_are_apart(running: Running) -> None:
    text = Browser(running).page(LOOK)
    changes = json.loads((candidate(running.home) / "before-after.json").read_text())
    assert [each["name"] for each in changes] == ["zip", "age", "sex", "ldl", "diagnosis"]
    for each in changes:
        drawn, name = each["reconstruction"], each["name"]
        figure = text.partition(f"<figcaption>{name}</figcaption>")[2].partition("</figure>")[0]
        assert f'role="img" aria-label="{name}: the table beside what a reader reconstructs' in figure
        assert figure.count("<rect") == 2 * len(drawn["before"]) == 2 * len(drawn["after"])
        said = "A reader&#39;s distribution equals the table&#39;s." if drawn["differs"] < 1e-9 else (
            f"differs from the table&#39;s for {100 * drawn['differs']:.1f} % of the rows."
        )  # fmt: skip
        assert said in figure


def test_classes_are_sorted_by_links_and_the_worst_comes_first(running: Running) -> None:
    browser = Browser(running)
    found = json.loads((candidate(running.home) / "classes.json").read_text())
    classes = {each["number"]: each for each in found["classes"]}
    figures = {
        "loss": lambda number: -classes[number]["loss"],
        "rows": lambda number: classes[number]["rows"],
        "t": lambda number: -classes[number]["used"],
    }
    for order, figure in figures.items():
        text = browser.page(f"{LOOK}?candidate=2&order={order}")
        assert listed(text) == sorted(classes, key=lambda number: (figure(number), number))
        assert len(re.findall(rf'order={order}#classes" aria-current="true"', text)) == 1
    assert listed(browser.page(LOOK)) == found["orders"]["loss"] == listed(browser.page(f"{LOOK}?order=%3Cb%3E"))


def test_a_class_that_is_opened_stays_with_its_candidate_and_its_order(running: Running) -> None:
    browser = Browser(running)
    answer = browser.post(f"{LOOK}/class", **{"candidate": "1", "class": "3", "order": "rows"})
    assert answer.headers["location"] == f"{LOOK}?candidate=1&order=rows#class"
    assert wait_for(running, KEY)["state"] == "done"
    text = browser.page(f"{LOOK}?candidate=1&order=rows")
    found = json.loads((candidate(running.home, 1) / "inside.json").read_text())
    reasons, rows = found["reasons"], found["chosen"]["rows"]
    assert f"Class 3: {rows} rows" in text
    assert f"{reasons['costliest']} costs it most detail: {100 * reasons['share']:.1f} %" in text
    others = reasons["fit"] - rows
    assert (f"{reasons['fit']} rows of the table fit what it publishes: its own {rows}, and {others} from" in text) == (
        others > 0
    )
    assert ("as few as k allows" in text) == reasons["smallest"]


def test_a_candidate_that_an_earlier_version_looked_into_is_looked_into_again(running: Running) -> None:
    place, browser = candidate(running.home), Browser(running)
    for name in ("classes.json", "before-after.json"):
        (place / name).unlink()
    assert "Show the classes" in browser.page(LOOK)
    browser.post(f"{LOOK}/class", candidate="2")
    assert wait_for(running, KEY)["state"] == "done"
    assert listed(browser.page(LOOK))


def test_a_table_that_changed_gives_a_class_no_reasons(finished_home: Path) -> None:
    folder = finished_home / ".tclose" / "studio" / KEY
    told = candidate(finished_home) / "inside.json"
    work.inside(folder, silent, number=2, class_number=1)
    assert json.loads(told.read_text())["reasons"]["fit"] >= 1
    table = folder / "source" / "patients.csv"
    table.write_text(table.read_text() + table.read_text().splitlines()[1] + "\n")  # all values are known
    work.inside(folder, silent, number=2, class_number=1)
    assert json.loads(told.read_text())["reasons"] is None
