"""Build the wheel, install it without extras on every Python that is here, and use it as a stranger would.

    python tests/typing/wheel.py [--without-extras]

It runs check, anonymize (with the default method) and verify on a small CSV, then checks `public_api.py` with mypy
--strict against the installed package; with --without-extras, that is all. With the extra for the studio, it runs those
of its tests that need no browser. Then it installs the wheel with all extras but Spark at the lowest versions that
pyproject.toml allows, and runs some tests and the demo there: a lower bound must be true. Other packages come from the
package index that pip is set up with.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("public_api.py")
VERSIONS = ("3.11", "3.12", "3.13")
SHIPPED = ("py.typed", "report/page.html", "report/style.css", "report/page.js", "examples/policy.toml",
           "examples/diagnosis.csv", "studio/templates/base.html", "studio/static/htmx.min.js", "studio/texts/de.toml",
           "studio/texts/en.toml")  # fmt: skip
TABLE = "age,pay\n" + "".join(f"{20 + i},{i % 4}\n" for i in range(16))
LOWER_BOUND = re.compile(r"([A-Za-z0-9._-]+(?:\[[a-z,]+\])?)>=([0-9.]+)(; .*)?")
LEFT_OUT = {"spark", "dev"}  # needs Java; is for developers, and takes the other extras again
FOR_TESTS = ("pytest>=8", "hypothesis>=6.100", "pandas==2.2.0", "pyarrow==16.0.0", "duckdb==1.1.0")
TESTS = (
    "tests/test_api.py",
    "tests/test_check.py",
    "tests/table/test_frames.py",
    "tests/sklearn",
    "tests/sql/test_query.py",
)
STUDIO = ("tests/studio/test_safety.py", "tests/studio/test_signing.py")
POLICY = "k = 2\n[quasi.age]\n[sensitive.pay]\nt = 0.5\n"


def main(*, extras: bool) -> None:
    """Try every Python, without extras first, and then with them if asked."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = build(Path(folder))
        pythons = dict(interpreters())
        for version, python in pythons.items():
            place = Path(folder) / version
            place.mkdir()
            use(wheel, python, place)
            sys.stdout.write(f"Python {version}: check, anonymize, verify and mypy --strict pass\n")
            if extras:
                use_studio(wheel, place)
                sys.stdout.write(f"Python {version}: the studio passes its tests without a browser\n")
        if extras:
            version, python = next(iter(pythons.items()))
            (Path(folder) / "lowest").mkdir()
            use_lowest(wheel, python, Path(folder) / "lowest")
            sys.stdout.write(f"Python {version}, lowest versions ({', '.join(lowest())}): tests and demo pass\n")
        if missing := [version for version in VERSIONS if version not in pythons]:
            sys.stdout.write(f"not tried, since not here: Python {', '.join(missing)}\n")


def build(folder: Path) -> Path:
    """Build the wheel; everything that the package reads at run time must be in it."""
    run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], folder)
    (wheel,) = folder.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    if absent := [name for name in SHIPPED if f"tclose/{name}" not in names]:
        raise SystemExit(f"the wheel lacks {', '.join(absent)}")
    return wheel


def interpreters() -> Iterator[tuple[str, str]]:
    """Yield the Pythons on the path or in pyenv, by version."""
    for version in VERSIONS:
        installed = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))
        found = str(installed[-1]) if installed else shutil.which(f"python{version}")
        if found:
            yield version, found


def use(wheel: Path, python: str, folder: Path) -> None:
    """Install the wheel into a new environment, and use it there."""
    run([python, "-m", "venv", "venv"], folder)
    own = str(folder / "venv" / "bin" / "python")
    run([own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)], folder)
    (folder / "t.csv").write_text(TABLE)
    (folder / "p.toml").write_text(POLICY)
    tclose = str(folder / "venv" / "bin" / "tclose")
    run([tclose, "check", "t.csv", "--policy", "p.toml"], folder, status=1)
    run([tclose, "anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--certificate", "c.json"], folder)
    run([tclose, "verify", "r.csv", "--certificate", "c.json"], folder)
    run([own, str(SCRIPT), "t.csv", "p.toml"], folder)
    shutil.copy(SCRIPT, folder)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", own, "--cache-dir", str(folder / "cache")]
    run([*mypy, SCRIPT.name], folder)


def use_studio(wheel: Path, folder: Path) -> None:
    """Add the studio to an environment, and run those of its tests that need no browser."""
    own = str(folder / "venv" / "bin" / "python")
    install = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*install, f"{wheel}[studio]", "pytest>=8", "hypothesis>=6.100"], folder)
    run([own, "-m", "pytest", "-p", "no:cacheprovider", *STUDIO], ROOT)


def lowest() -> list[str]:
    """Return the lowest versions that pyproject.toml allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = (needed for name, needed in project["optional-dependencies"].items() if name not in LEFT_OUT)
    bounds = [bound for needed in (project["dependencies"], *extras) for bound in needed if "tclose[" not in bound]
    matched = {bound: LOWER_BOUND.fullmatch(bound) for bound in bounds}
    if unclear := [bound for bound, found in matched.items() if found is None]:
        raise SystemExit(f"no plain lower bound: {', '.join(unclear)}")
    return sorted({f"{found[1]}=={found[2]}{found[3] or ''}" for found in matched.values() if found is not None})


def use_lowest(wheel: Path, python: str, folder: Path) -> None:
    """Install the wheel and its extras at their lower bounds; run tests and the demo."""
    run([python, "-m", "venv", "venv"], folder)
    own = str(folder / "venv" / "bin" / "python")
    run(
        [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel), *lowest(), *FOR_TESTS],
        folder,
    )
    quiet = ("-p", "no:cacheprovider", "-W", "ignore")  # old packages warn about what is newer than they are
    run([own, "-m", "pytest", *quiet, *TESTS, *STUDIO], ROOT)
    run([str(folder / "venv" / "bin" / "tclose"), "demo", "--rows", "300"], folder)


def run(command: list[str], folder: Path, *, status: int = 0) -> None:
    """Run a command in a folder; show what it said if it does not end as expected."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # the wheel, not src
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != status:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main(extras="--without-extras" not in sys.argv)
