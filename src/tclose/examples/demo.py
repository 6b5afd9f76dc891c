"""The demonstration: a made-up hospital, its policy, and why its table may not leave the house as it is."""

from __future__ import annotations

import json
import shutil
from importlib.resources import as_file, files
from pathlib import Path

import click

from tclose import talk
from tclose.examples.hospital import hospital
from tclose.policy import Policy
from tclose.release import check, explain
from tclose.table import read


def play(*, rows: int, seed: int, folder: Path, as_json: bool) -> int:
    """Write the example into a folder, judge it and explain the worst class; return the exit status."""
    table, policy_file = write_example(folder, rows=rows, seed=seed)
    policy = Policy.load(policy_file)
    with talk.Bar() as bar:
        frame = read(table)
        result = check(frame, policy, progress=bar)
    if as_json:
        click.echo(json.dumps({"table": str(table), "policy": str(policy_file), "check": result.to_dict()}))
        return 0
    click.echo(f"A made-up hospital of {rows:,} patients: {table}\nWhat its steward asks for: {policy_file}\n")
    click.echo(f"$ tclose check {table} --policy {policy_file}\n")
    talk.show_check(result)
    worst = result.sensitive["hemoglobin"].worst_class
    click.echo(f"\n$ tclose explain {table} --policy {policy_file} --attribute hemoglobin --class {worst}\n")
    talk.show_explanation(explain(frame, policy, attribute="hemoglobin", class_number=worst))
    click.echo("\nSo this table may not be published as it is: removing names and numbers was not enough.")
    return 0


def write_example(folder: Path, *, rows: int, seed: int) -> tuple[Path, Path]:
    """Write the table, the policy and the hierarchy that it names."""
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "hospital.csv"
    hospital(rows, seed=seed).write_csv(table)
    for name in ("policy.toml", "diagnosis.csv"):
        with as_file(files("tclose.examples") / name) as source:
            shutil.copyfile(source, folder / name)
    return table, folder / "policy.toml"
