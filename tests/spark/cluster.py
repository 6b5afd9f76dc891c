"""A real cluster for tests: a master and two workers, as processes of their own; a session gets a core of each."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Empty, Queue
from tempfile import TemporaryDirectory
from threading import Thread
from typing import IO, Any

import tclose

HOST = "127.0.0.1"
WORKERS = 2
MEMORY = "1200m"  # that a worker offers: two executors
PATIENCE = 1800  # seconds that a part of the cluster may say nothing before it is ready
LIGHT = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=200m"  # of processes that do not live long
DEPLOYED = "org.apache.spark.deploy"


class Cluster:
    """A master and its workers; each worker can run a second application beside that of the session."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack, self._workers = stack, list[subprocess.Popen[str]]()
        folder = TemporaryDirectory(prefix="tclose-spark-", ignore_cleanup_errors=True)
        self.folder, port = Path(stack.enter_context(folder)), free_port()
        self.address = f"spark://{HOST}:{port}"
        _, self._log = stack.enter_context(_process(self.folder, f"{DEPLOYED}.master.Master", "--port", str(port)))
        _wait_for("New state: ALIVE", self._log)

    def add_workers(self, number: int) -> None:
        """Start some workers, and wait until the master knows them."""
        for _ in range(number):
            place = self.folder / f"worker-{len(self._workers)}"
            offered = ("--cores", "2", "--memory", MEMORY, "--work-dir", str(place))
            worker = f"{DEPLOYED}.worker.Worker"
            process, _ = self._stack.enter_context(_process(self.folder, worker, *offered, self.address))
            self._workers.append(process)
        for _ in range(number):
            _wait_for("Registering worker", self._log)

    def kill_worker(self) -> None:
        """Kill the worker that was started last; its executors end with it."""
        self._workers[-1].kill()


@contextmanager
def started() -> Iterator[Cluster]:
    """Start a cluster of two workers, and stop it in the end."""
    with ExitStack() as stack:
        cluster = Cluster(stack)
        cluster.add_workers(WORKERS)
        yield cluster


@contextmanager
def session(address: str, folder: Path, connect_port: int) -> Iterator[Any]:
    """Open a session on a cluster, which also serves Spark Connect."""
    from pyspark.sql import SparkSession

    os.environ |= {"SPARK_LOCAL_IP": HOST, "PYSPARK_PYTHON": sys.executable}
    builder = SparkSession.builder.master(address).appName("tclose's tests")
    for name, value in settings(folder, connect_port).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def settings(folder: Path, connect_port: int) -> dict[str, str]:
    """Return the settings of a session: small, quiet, and with the tclose that is tested."""
    return {
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": str(connect_port),
        "spark.driver.extraJavaOptions": f"{LIGHT} -Dderby.system.home={folder}",
        "spark.cores.max": str(WORKERS),
        "spark.driver.memory": "768m",
        "spark.executor.extraJavaOptions": LIGHT,
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "spark.executorEnv.PYTHONPATH": str(Path(tclose.__file__).parent.parent),
        "spark.log.level": "ERROR",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # tables are small: compiling their plans takes longer
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.task.maxFailures": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def free_port() -> int:
    """Return a port that nobody listens to."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        return int(free.getsockname()[1])


@contextmanager
def _process(folder: Path, name: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], Queue[str]]]:
    """Run a part of the cluster, which ends with this process at the latest; yield it, and the lines of its log."""
    import pyspark

    home = Path(pyspark.__file__).parent
    daemon = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": LIGHT}
    environment = {**os.environ, **daemon, "SPARK_LOCAL_IP": HOST, "SPARK_HOME": str(home)}
    command = [str(home / "bin" / "spark-class"), name, "--host", HOST, "--webui-port", "0", *arguments]
    with subprocess.Popen(
        command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        preexec_fn=_die_with_parent,
    ) as process:  # fmt: skip
        lines: Queue[str] = Queue()
        reader = Thread(target=_read, args=(process.stderr, lines))
        reader.start()
        try:
            yield process, lines
        finally:
            process.terminate()
            reader.join()


def _read(log: IO[str], lines: Queue[str]) -> None:
    for line in log:
        lines.put(line)


def _wait_for(said: str, lines: Queue[str]) -> None:
    seen = [""]
    while said not in seen[-1]:
        try:
            seen.append(lines.get(timeout=PATIENCE))
        except Empty:
            raise AssertionError(f"a part of the cluster did not start: {''.join(seen[-20:])}") from None


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: even if the tests are killed
