"""Nothing is drawn, read or solved when the modules of the lab are imported."""

import subprocess
import sys

CODE = """
import pkgutil
from importlib import import_module

import numpy as np
from thrifty.problem.instances import Instance

def refused(*arguments, **options):
    raise AssertionError("drawn at import")

np.random.default_rng = Instance.__init__ = refused
import thrifty.files
for package in ("lab.paper", "lab.arena", "lab.pages", "report", "studies"):
    folder = import_module(f"thrifty.{package}")
    for module in pkgutil.iter_modules(folder.__path__):
        import_module(f"thrifty.{package}.{module.name}")
assert thrifty.files.package_toml.cache_info().misses == 0, "read at import"
print("imported")
"""


def test_imports_draw_and_read_nothing():
    done = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True)
    assert done.stdout == "imported\n"
