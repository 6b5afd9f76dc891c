"""Build the wheel, install it without extras on every Python that is here, and use it as a stranger would.

    python tests/typing/wheel.py

It runs check, anonymize (with the default method) and verify on a small CSV, then checks `public_api.py` with mypy
--strict against the installed package. Other packages come from the package index that pip is set up with.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("public_api.py")
VERSIONS = ("3.11", "3.12", "3.13")
SHIPPED = ("py.typed", "report/page.html", "report/style.css", "report/page.js", "examples/policy.toml",
           "examples/diagnosis.csv")  # fmt: skip
TABLE = "age,pay\n" + "".join(f"{20 + i},{i % 4}\n" for i in range(16))
POLICY = "k = 2\n[quasi.age]\n[sensitive.pay]\nt = 0.5\n"


def main() -> None:
    """Try every Python."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = build(Path(folder))
        pythons = dict(interpreters())
        for version, python in pythons.items():
            place = Path(folder) / version
            place.mkdir()
            use(wheel, python, place)
            sys.stdout.write(f"Python {version}: check, anonymize, verify and mypy --strict pass\n")
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


def run(command: list[str], folder: Path, *, status: int = 0) -> None:
    """Run a command in a folder; show what it said if it does not end as expected."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != status:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
