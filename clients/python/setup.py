"""Builds thrifty-client: the files of thrifty that its client needs, under a name of their own.

In a checkout they are read from src/thrifty. A source distribution carries them as they are.
"""

import re
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
FILES = (
    "display.py",
    "errors.py",
    "learners/__init__.py",
    "learners/decisions.py",
    "py.typed",
    "service/__init__.py",
    "service/addresses.py",
    "service/client/*.py",
    "service/ids.py",
)


def contents() -> dict[str, str]:
    """The text of each file."""
    places = (HERE.parents[1] / "src" / "thrifty", HERE / "thrifty")
    source = next(place for place in places if place.is_dir())
    paths = [path for pattern in FILES for path in sorted(source.glob(pattern))]
    return {str(path.relative_to(source)): path.read_text(encoding="utf-8") for path in paths}


def renamed(text: str) -> str:
    """The same with imports from thrifty_client, so that both may be installed."""
    return re.sub(r"^( *from) thrifty\b", r"\1 thrifty_client", text, flags=re.MULTILINE)


def write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


class BuildPackage(build_py):
    def run(self) -> None:
        super().run()
        texts = {name: renamed(text) for name, text in contents().items()}
        write(Path(self.build_lib) / "thrifty_client", texts)


class SourceDistribution(sdist):
    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        write(Path(base_dir) / "thrifty", contents())


setup(cmdclass={"build_py": BuildPackage, "sdist": SourceDistribution})
