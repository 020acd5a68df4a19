"""Facts about the machine and the measured versions."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

from tests.benchmarks.learners.peers_environment import CONSTRAINTS


def machine_facts() -> dict[str, str]:
    """Processor, cores, memory, Python, and the versions of the project and of the peers."""
    import numpy  # noqa: F401 - its BLAS is reported
    from threadpoolctl import threadpool_info

    blas = {
        f"{one['internal_api']} {one['version']}" for one in threadpool_info() if one["user_api"] == "blas"
    }
    own_versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    return {
        "processor": _value_in_file("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": str(os.cpu_count()),
        "memory": _memory_size(),
        "system": f"{platform.system()}, Python {platform.python_version()}, {', '.join(sorted(blas))}",
        "ours": own_versions,
        "peers": ", ".join(
            _pinned_version(name) for name in ("metric-learn", "numpy", "scipy", "scikit-learn")
        ),
    }


def _pinned_version(name: str) -> str:
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    return next(line.replace("==", " ") for line in lines if line.startswith(f"{name}=="))


def _memory_size() -> str:
    kibibytes = (_value_in_file("/proc/meminfo", "MemTotal") or "").split()
    return f"{int(kibibytes[0]) / 1024**2:.0f} GiB" if kibibytes else "unknown"


def _value_in_file(file: str, name: str) -> str:
    """The value of the first line ``name : value``, or an empty text."""
    if not Path(file).exists():
        return ""
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), "")
