"""A release is verified on a cluster: its files are read, counted and judged there, and compared with a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tclose.engine.disk import Counting
from tclose.errors import InputError, PolicyError
from tclose.privacy.counted import JudgedCounts, judge_counted
from tclose.release.certificate import Certificate, CertifiedFile
from tclose.release.demands import Demands
from tclose.release.finding import name_problems
from tclose.release.keys import load_public_key
from tclose.release.published_files import FilesOf
from tclose.release.verification import Verification, Verified, not_judged, table_problems
from tclose.release.verify import verify_with
from tclose.spark.counting import counted_of, counted_on_cluster
from tclose.spark.files import FilesOnSpark
from tclose.spark.jobs import SparkFailed
from tclose.spark.parcels import PartFacts
from tclose.table import CountedTable
from tclose.types import Progress, Repeating, silent, stretch

READ = 0.8  # share of the work after which the files are read


def verify(
    spark: SparkSession,
    path: str | Path,
    certificate: str | Path,
    *,
    digest: str | None = None,
    signers: Sequence[str | Path] = (),
    required: int | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Judge a release again and compare with what its certificate says, as `tclose.verify` does.

    `path` is a folder of Parquet files, or one such file, on any file system that Spark reads; the certificate is a
    file of this machine. Executors take the fingerprints (SHA-256) of the very bytes that they judge.
    """
    told = Repeating(progress or silent)
    work = _Verifying(spark, str(path), Path(certificate), told)
    demands = Demands(tuple(map(load_public_key, signers)), required)
    asked: dict[str, Any] = {"digest": digest, "population": None, "demands": demands}
    return verify_with(work.judge, path, certificate, **asked, progress=told, find=work.find)


@dataclass(eq=False)
class _Verifying:
    """Finds the files of a release, and judges them."""

    spark: SparkSession
    path: str
    certificate: Path
    told: Repeating

    def find(self, promised: Certificate) -> FilesOf:
        """Find the files that a certificate is about."""
        certified = promised.files
        found = self.found = FilesOnSpark.at(self.spark, self.path, self.certificate, self.told.beat)
        if not found.folder:
            if len(certified) > 1:
                sentence = f"the certificate is of a table in {len(certified):,} files: name the folder that holds them"
                raise InputError(sentence)
            self.found = found.called(str(certified[0].name))
            return FilesOf(certified, {certified[0].name: Path(self.path)}, promised.guard)
        absent = name_problems(certified, list(found.paths), self._digests)
        data = {file.name: Path(str(file.name)) for file in certified if file.name in found.paths}
        files = FilesOf(certified, data, promised.guard, folder=True, absent=absent)
        if absent:  # then nothing is judged
            self._note_digests(files)
        return files

    def judge(self, promised: Certificate, files: FilesOf, progress: Progress) -> Verified:
        """Judge the published values, and compare with what the certificate says."""
        if files.guard:
            raise InputError("a release that is guarded against formulas is not verified on Spark: use tclose.verify")
        try:
            judged = self._judged(promised, files, progress)
        except SparkFailed:
            raise
        except (InputError, PolicyError) as error:
            self._note_digests(files)
            return not_judged(error)
        return Verified(table_problems(judged, promised.claims, promised.measures, promised), judged.result)

    def _judged(self, promised: Certificate, files: FilesOf, progress: Progress) -> JudgedCounts:
        names = [str(file.name) for file in promised.files]
        columns = self.found.columns(names[0], self.told.beat)
        counting = Counting(promised.policy, False, self.told.beat)
        counting.wanted(columns)
        what = counted_of(counting, self.spark)
        parcels = self.found.parcels(names, what, (names[0], columns))
        with counted_on_cluster(parcels, what, self.told.beat) as cluster:
            self._note_files(files, cluster.facts)
            cluster.check_cells()
            table = CountedTable.of(cluster.counted[0], promised.policy)
            cluster.warn_of_repeats(counting.identifiers)
            stretch(progress, READ, 1.0)(0.0, "judging")
            return judge_counted(table, promised.policy)

    def _note_files(self, files: FilesOf, facts: list[PartFacts]) -> None:
        """Compare the fingerprints and the rows of all files with the certificate; refuse one that cannot be read."""
        read = {part.file.path: part.file for part in facts if part.file is not None}
        for file in files.certified:
            found = read[self.found.paths[str(file.name)]]
            files.note_digest(file, found.sha256)
            if found.problem is not None:
                raise InputError(found.problem)
            files.note_rows(file, found.rows)

    def _note_digests(self, files: FilesOf) -> None:
        """Compare the fingerprints of files that were not read."""
        unread: dict[str, CertifiedFile] = {
            str(file.name): file for file in files.certified if files.has(file) and file.name not in files.changed
        }
        for name, digest in self._digests(list(unread)).items() if unread else ():
            files.note_digest(unread[name], digest)

    def _digests(self, names: Sequence[str]) -> dict[str, str]:
        return self.found.fingerprints(names, self.told.beat)
