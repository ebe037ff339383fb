"""Facts of the machine that numbers mean nothing without."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import ssl
import statistics
from pathlib import Path

import apsw

from benchmarks.clock import perf_counter, strftime

PACKAGES = (
    "trio",
    "hypercorn",
    "quart",
    "quart-trio",
    "httptools",
    "apsw",
    "orjson",
    "cryptography",
    "protobuf",
)
BLOCK = bytes(4096)


def gather(folder: Path) -> dict[str, str]:
    """Facts by name, in the order to print them.

    Args:
        folder: on the disk that durable writes go to.
    """
    return {
        "date": strftime("%Y-%m-%d %H:%M"),
        "cpu": f"{_first('/proc/cpuinfo', 'model name')}, {os.cpu_count()} cores",
        "memory": f"{int(_first('/proc/meminfo', 'MemTotal').split()[0]) / 1e6:.1f} GB",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "libraries": ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
        "native": f"SQLite {apsw.sqlite_lib_version()}, {ssl.OPENSSL_VERSION}",
        "fsync": f"{fsync_ms(folder):.2f} ms for 4 KB in {folder.parent}",
        "load": f"{os.getloadavg()[0]:.2f} before the run (above 0.5 the numbers are doubtful)",
        "generator": "benchmarks.load, one process, epoll (wrk is not used: one generator for all)",
    }


def fsync_ms(folder: Path) -> float:
    """Median time of an append of 4 KB with fsync, in milliseconds."""
    taken = []
    path = folder / "fsync"
    with path.open("wb", buffering=0) as file:
        for _ in range(50):
            begin = perf_counter()
            file.write(BLOCK)
            os.fsync(file.fileno())
            taken.append(perf_counter() - begin)
    path.unlink()
    return statistics.median(taken) * 1e3


def _first(path: str, name: str) -> str:
    found = re.search(rf"^{name}\s*:\s*(.*)$", Path(path).read_text(), re.MULTILINE)
    return found.group(1) if found else "unknown"


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "missing"
