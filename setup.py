"""The packages below the folders app, core and resources, which are installed as semblance.*, the package semblance
itself (core/interface), the files of resources that are not in the repository, and the readme of the package index."""

import re
import runpy
from pathlib import Path

from setuptools import find_packages, setup

runpy.run_path(str(Path(__file__).parent / "packaging" / "build_resources.py"), run_name="__main__")
folders = find_packages(include=["app*", "core*", "resources*"], exclude=["core.interface*"])
readme = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
# Images and links to files of the repository lead nowhere on a package index.
readme = re.sub(r"^!\[.*\n\n", "", readme, flags=re.MULTILINE)
readme = re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]+\)", r"\1", readme)
setup(
    packages=["semblance", *(f"semblance.{name}" for name in folders)],
    long_description=readme,
    long_description_content_type="text/markdown",
)
