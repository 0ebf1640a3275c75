"""Every exception that a user can see; each message is one line."""

from collections.abc import Iterable
from difflib import get_close_matches


class _Bare(str):
    """A word of ours in a message, not a value of the user's: shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


NOTHING = _Bare("nothing")


class ThriftyError(Exception):
    """Base of all errors that thrifty raises on purpose."""


class InvalidInput(ThriftyError, ValueError):
    """A value that cannot be used: where it stands, what was expected, and perhaps what to do."""

    def __init__(self, where: str, expected: str, got: object, *, hint: str = "") -> None:
        super().__init__(
            f"{where}: {expected} expected, got {_short(got)}" + (f"; {hint}" if hint else "")
        )
        self.where, self.expected, self.got = where, expected, got


class MissingInput(ThriftyError, ValueError):
    """Something that has to be given; the message says how."""


class MissingPackage(ThriftyError, ImportError):
    """A package that is not installed; the message says how to install it."""

    def __init__(self, needed_by: str, package: str, extra: str) -> None:
        super().__init__(f"{needed_by} needs {package}: pip install 'thrifty[{extra}]'")


class UnknownName(ThriftyError, LookupError):
    """A name that nothing goes by; suggests the nearest."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = list(known)
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        advice = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
        super().__init__(f"unknown {kind} {name!r}; {advice}")
        self.kind, self.name, self.suggestion = kind, name, near[0] if near else None


class BadFile(ThriftyError):
    """A file that cannot be read or written, or whose content cannot be used; the message starts
    with its path.
    """


class Unreachable(ThriftyError):
    """Another machine that does not answer, or not as it must."""


class CacheUnavailable(UserWarning):
    """Machine code cannot be kept on disk, so that every process compiles again."""


class SetAside(UserWarning):
    """A file of results that cannot be trusted was renamed, and its work is done again."""


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
