"""The packages below the folders app, core and resources, which are installed as semblance.*, the package semblance
itself (core/interface), and the files of resources that are not in the repository."""

import runpy
from pathlib import Path

from setuptools import find_packages, setup

runpy.run_path(str(Path(__file__).parent / "packaging" / "build_resources.py"), run_name="__main__")
folders = find_packages(include=["app*", "core*", "resources*"], exclude=["core.interface*"])
setup(packages=["semblance", *(f"semblance.{name}" for name in folders)])
