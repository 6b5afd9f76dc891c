"""A script that uses the public API as its users do; mypy --strict must accept it, and it must run."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import tclose


class Patience:
    """A progress that cancels on request."""

    def __init__(self) -> None:
        self.cancelled = False

    def __call__(self, share: float, phase: str = "") -> None:
        """Stop the work if somebody asked for it."""
        if self.cancelled:
            raise tclose.Cancelled


def publish(table: Path, policy: tclose.Policy, progress: tclose.Progress) -> tclose.Certificate:
    """Check, publish and verify a table."""
    frame = tclose.read(table)
    result: tclose.CheckResult = tclose.check(frame, policy, progress=progress)
    closeness: dict[str, Fraction] = {name: found.closeness for name, found in result.sensitive.items()}
    models: list[tclose.ModelFinding] = [finding for finding in result.models if not finding.satisfied]
    if closeness and not models:
        raise SystemExit("nothing to do")
    release: tclose.Release = tclose.anonymize(frame, policy, method="mondrian", progress=progress)
    out, proof = table.with_name("release.csv"), table.with_name("certificate.json")
    certificate: tclose.Certificate = release.write(out, certificate=proof)
    verification: tclose.Verification = tclose.verify(out, proof, digest=certificate.digest)
    if not verification.holds:
        raise SystemExit("; ".join(verification.problems))
    attacks: tclose.Attacks = tclose.attack(release, original=frame, policy=policy)
    kept: tclose.DetailKept = tclose.detail(release, original=frame, policy=policy)
    share: float | None = kept.figures["marginals"]
    loaded: tclose.LoadedRelease = tclose.load(out, proof)
    estimate: tclose.Estimate = loaded.mean("age")
    fit: tclose.Regression = loaded.regression("pay", ["age"])
    if estimate.lower > estimate.upper or loaded.mean("age", by="pay").height > fit.rows:
        raise SystemExit("bounds have an order")
    try:
        query: str = tclose.sql_check({"quasi": ["age"], "k": 2}, table="t", dialect="duckdb")
    except tclose.MissingExtra as missing:  # the wheel is tried without extras
        query = str(missing)
    bound: tclose.LowerBound = tclose.bound(frame, policy, seconds=1, progress=progress)
    least: Fraction = bound.exact
    if (share is not None and least > 1) or not query:
        raise SystemExit("a bound is at most 1")
    sys.stdout.write(f"{tclose.__version__} {attacks.k} {share is not None}\n")
    return certificate


def main() -> None:
    """Publish the table that is named first, by the policy that is named second."""
    try:
        publish(Path(sys.argv[1]), tclose.Policy.of(sys.argv[2]), Patience())
    except tclose.TcloseError as error:
        raise SystemExit(error.exit_status) from None


if __name__ == "__main__":
    main()
