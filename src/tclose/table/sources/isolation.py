"""What the reading process may not do: take all memory, run for ever, reach the network, open other files.

It is applied once, before the first byte of a file is read, and can never be taken back. On Linux the kernel enforces
all of it (resource limits, seccomp, Landlock). Elsewhere only the resource limits that the system has are left, and
docs/security.md says so. Only Python's own library is needed here, and numbers of system calls are those of the kernel.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import stat
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

RESERVED, RESERVED_PER_CORE = 2 << 30, 128 << 20  # bytes of addresses that libraries and threads hardly use
OWN_DATA = 192 << 20  # bytes that polars, its threads and the other readers take for themselves
REFUSED = 1  # EPERM
NO_MEMORY = 5  # exit status of a process that ran out of it

_NO_NEW_PRIVILEGES, _END_WITH_PARENT = 38, 1  # of prctl
_SECCOMP_FILTER, _TO_ALL_THREADS = 1, 1  # of seccomp
_LANDLOCK = (444, 445, 446)  # create a rule set, add a rule, obey: the same numbers on every processor
_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE, _DEVICE = 1, 2, 4, 8, 1 << 14, 1 << 15
_HANDLED = ((1, (1 << 13) - 1), (2, 1 << 13), (3, _TRUNCATE), (5, _DEVICE))  # rights, by the version that knows them
_NO_NETWORK = 3  # binding and connecting, from version 4 on
_SCOPED = 3  # abstract sockets and signals to other processes, from version 6 on
# per processor: its number for seccomp, seccomp itself, and the calls that are refused
_CALLS: dict[str, tuple[int, int, tuple[int, ...]]] = {
    # socket, connect, execve, execveat, fork, vfork, ptrace, process_vm_readv/writev, bpf, io_uring_setup, pidfd_getfd,
    # unshare, setns, mount, keyctl, add_key, request_key, userfaultfd, perf_event_open, kill, tkill, pidfd_send_signal
    "x86_64": (
        0xC000003E,
        317,
        (41, 42, 59, 322, 57, 58, 101, 310, 311, 321, 425, 438, 272, 308, 165, 250, 248, 249, 323, 298, 62, 200, 424),
    ),
    "aarch64": (
        0xC00000B7,
        277,
        (198, 203, 221, 281, 117, 270, 271, 280, 425, 438, 97, 268, 40, 219, 217, 218, 282, 241, 129, 130, 424),
    ),
}
_SYSTEM = (  # what Python and its libraries read besides their own folders
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo", "/etc/ld.so.cache",
    "/etc/localtime", "/proc/self", "/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/sys/devices/system/cpu",
    "/sys/fs/cgroup", "/sys/kernel/mm", "/dev/null", "/dev/urandom", "/dev/zero",
)  # fmt: skip


def end_with_parent() -> None:
    """Let the kernel end this process when the one that started it ends."""
    if sys.platform == "linux":
        parent = os.getppid()
        _libc().prctl(_END_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        if parent != os.getppid():  # it ended just before
            os._exit(0)


def limit(memory: int, seconds: int) -> None:
    """Limit what reading may take besides what the libraries take, and the CPU seconds; leave no core dump.

    Only the soft limits move, so that a process which reads several files can be given more for a larger one.
    """
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        spent = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        _lower(resource.RLIMIT_CPU, int(spent) + seconds)
        available = available_memory()
        _lower(resource.RLIMIT_DATA, _private_memory() + OWN_DATA + (min(memory, available) if available else memory))
        if available:
            _lower(resource.RLIMIT_AS, available + RESERVED + RESERVED_PER_CORE * (os.cpu_count() or 1))


def _lower(kind: int, most: int) -> None:
    import resource

    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def available_memory() -> int:
    """Return how many bytes Linux could give away without swapping; 0 where nobody says."""
    return _kilobytes("/proc/meminfo", "MemAvailable:")


def most_memory() -> float:
    """Return how many bytes a process could take here at most, whatever it reads."""
    most = [float(available_memory() or "inf")]
    with suppress(ImportError, OSError):
        import resource

        hard = (resource.getrlimit(kind)[1] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
        most += [float(limit) for limit in hard if limit != resource.RLIM_INFINITY]
    return min(most)


def _private_memory() -> int:
    """Return the bytes of this process that count towards its limit of data."""
    return _kilobytes("/proc/self/status", "VmData:")


def _kilobytes(path: str, name: str) -> int:
    with suppress(OSError, ValueError):
        lines = Path(path).read_text(encoding="ascii").splitlines()
        return next((1024 * int(line.split()[1]) for line in lines if line.startswith(name)), 0)
    return 0


def lock(readable: Sequence[str], writable: Sequence[str] = ()) -> tuple[bool, bool]:
    """Allow no network and no other files than Python's own and these; say which of both the kernel enforces.

    A file that is open already can still be read. This has to happen before a second thread exists.
    """
    if sys.platform != "linux":
        return False, False
    if _libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        return False, False
    files = _restrict_files(readable, writable)
    return _refuse_calls(), files


def _restrict_files(readable: Iterable[str], writable: Iterable[str]) -> bool:
    """Let the kernel refuse all other files (Landlock)."""
    call = _libc().syscall
    create, add, obey = _LANDLOCK
    version = call(create, None, 0, 1)
    if version < 1:
        return False
    handled = sum(rights for since, rights in _HANDLED if version >= since)
    attributes = [handled, *([_NO_NETWORK] if version >= 4 else []), *([_SCOPED] if version >= 6 else [])]
    asked = struct.pack(f"{len(attributes)}Q", *attributes)
    rules = call(create, asked, len(asked), 0)
    if rules < 0:
        return False
    try:
        own = {*sys.path, sys.prefix, sys.base_prefix, sys.exec_prefix, *_SYSTEM}
        for path in (*own, *readable):
            _allow(rules, add, path, handled & (_READ | _LIST))
        for path in writable:
            _allow(rules, add, path, handled & (_READ | _LIST | _WRITE | _TRUNCATE))
        return bool(call(obey, rules, 0) == 0)
    finally:
        os.close(rules)


def _allow(rules: int, add: int, path: str, rights: int) -> None:
    """Add one rule; a file that does not exist needs none."""
    with _opened(path) as place:
        if place is not None:
            folder = stat.S_ISDIR(os.fstat(place).st_mode)
            rule = struct.pack("=Qi", rights if folder else rights & ~_LIST, place)
            _libc().syscall(add, rules, 1, rule, 0)


@contextmanager
def _opened(path: str) -> Iterator[int | None]:
    try:
        place = os.open(path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
    except (OSError, ValueError):
        yield None
        return
    try:
        yield place
    finally:
        os.close(place)


def _refuse_calls() -> bool:
    """Let the kernel refuse the system calls that reach beyond this process (seccomp)."""
    if platform.machine() not in _CALLS:
        return False
    processor, seccomp, calls = _CALLS[platform.machine()]
    load, equal, more, end = 0x20, 0x15, 0x35, 0x06
    allow, refuse = 0x7FFF0000, 0x00050000 | REFUSED
    program = [(load, 0, 0, 4), (equal, 1, 0, processor), (end, 0, 0, refuse), (load, 0, 0, 0)]
    program += [(more, len(calls) + 1, 0, 0x40000000)]  # calls of the x32 kind have other numbers
    program += [(equal, len(calls) - place, 0, number) for place, number in enumerate(calls)]
    program += [(end, 0, 0, allow), (end, 0, 0, refuse)]
    code = b"".join(struct.pack("=HBBI", *line) for line in program)
    holder = ctypes.create_string_buffer(code, len(code))
    described = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(holder)))
    return bool(_libc().syscall(seccomp, _SECCOMP_FILTER, _TO_ALL_THREADS, described) == 0)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
