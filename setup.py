"""Builds the optional extension; everything else is read from pyproject.toml.

Without a working compiler the install goes on without it, and `pincite status` says so.
"""

import os
import sys
from glob import glob

from setuptools import setup

try:
    from pybind11.setup_helpers import ParallelCompile, Pybind11Extension
except ImportError:  # a build without isolation in an environment that lacks it
    Pybind11Extension = None

# Native and pure results agree bit for bit: the compiler may not fuse a multiplication and an
# addition, which rounds once where NumPy rounds twice. Without -g0 the debug information of the
# bindings takes two thirds of the build.
FLAGS = ["/O2", "/fp:precise"] if sys.platform == "win32" else ["-O3", "-g0", "-ffp-contract=off"]


def extensions() -> list:
    if Pybind11Extension is None:
        print("pybind11 is not installed: building without pincite._native", file=sys.stderr)
        return []
    ParallelCompile("PINCITE_BUILD_JOBS", default=os.cpu_count() or 1).install()
    return [
        Pybind11Extension(
            "pincite._native",
            sorted(glob("native/*.cpp")),
            depends=sorted(glob("native/*.hpp")),
            include_dirs=["native"],
            cxx_std=17,
            extra_compile_args=FLAGS,
            optional=True,
        )
    ]


setup(ext_modules=extensions())
