"""The packages below the folders app, core and resources, which are installed as semblance.*."""

from setuptools import find_packages, setup

setup(packages=[f"semblance.{name}" for name in find_packages(include=["app*", "core*", "resources*"])])
