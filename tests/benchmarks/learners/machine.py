"""What the page says of the machine and of the versions measured."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

from tests.benchmarks.learners.environment import CONSTRAINTS


def facts() -> dict[str, str]:
    """By name: processor, cores, memory, Python, and the versions of both sides."""
    import numpy  # noqa: F401 - its BLAS is asked about
    from threadpoolctl import threadpool_info

    blas = {
        f"{one['internal_api']} {one['version']}" for one in threadpool_info() if one["user_api"] == "blas"
    }
    own = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    return {
        "processor": _first("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "system": f"{platform.system()}, Python {platform.python_version()}, {', '.join(sorted(blas))}",
        "ours": own,
        "peers": ", ".join(_pinned(name) for name in ("metric-learn", "numpy", "scipy", "scikit-learn")),
    }


def _pinned(name: str) -> str:
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    return next(line.replace("==", " ") for line in lines if line.startswith(f"{name}=="))


def _memory() -> str:
    kibibytes = (_first("/proc/meminfo", "MemTotal") or "").split()
    return f"{int(kibibytes[0]) / 1024**2:.0f} GiB" if kibibytes else "unknown"


def _first(file: str, name: str) -> str:
    """The value of the first line ``name : value``; nothing where there is none."""
    if not Path(file).exists():
        return ""
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), "")
