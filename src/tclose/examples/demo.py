"""The demonstration: a made-up hospital, why its table may not leave the house as it is, and what may."""

from __future__ import annotations

import json
import shutil
from importlib.resources import as_file, files
from pathlib import Path

import click

from tclose.cli import show as talk
from tclose.cli.progress import Bar
from tclose.engine.memory import anonymize, check
from tclose.examples.hospital import hospital
from tclose.policy import Policy
from tclose.release.verify import verify
from tclose.table import read


def play(*, rows: int, seed: int, folder: Path, as_json: bool) -> int:
    """Write the example into a folder, judge it, release it and verify the release; return the exit status."""
    table, policy_file = write_example(folder, rows=rows, seed=seed)
    out, certificate = folder / "release.csv", folder / "release.json"
    policy = Policy.load(policy_file)
    with Bar() as bar:
        frame = read(table)
        before = check(frame, policy, progress=bar)
        proof = anonymize(frame, policy, progress=bar).write(out, certificate=certificate)
    found = verify(out, certificate)
    if as_json:
        paths = {"table": str(table), "policy": str(policy_file), "release": str(out), "certificate": str(certificate)}
        click.echo(json.dumps({**paths, "check": before.to_dict(), "verify": found.to_dict()}))
        return 0
    click.echo(f"A made-up hospital of {rows:,} patients: {table}\nWhat its steward asks for: {policy_file}")
    _command(f"tclose check {table} --policy {policy_file}")
    talk.show_check(before)
    click.echo("\nSo it may not be published as it is: leaving out names and numbers is not enough.")
    _command(f"tclose anonymize {table} --policy {policy_file} --out {out} --certificate {certificate}")
    talk.show_release(out, certificate, proof)
    _command(f"tclose verify {out} --certificate {certificate}")
    talk.show_verification(found)
    return 0


def _command(line: str) -> None:
    click.echo()
    click.secho(f"$ {line}\n", bold=True)


def write_example(folder: Path, *, rows: int, seed: int) -> tuple[Path, Path]:
    """Write the table, the policy and the hierarchy that it names."""
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "hospital.csv"
    hospital(rows, seed=seed).write_csv(table)
    for name in ("policy.toml", "diagnosis.csv"):
        with as_file(files("tclose.examples") / name) as source:
            shutil.copyfile(source, folder / name)
    return table, folder / "policy.toml"
