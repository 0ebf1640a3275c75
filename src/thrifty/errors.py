"""Exceptions and warnings. Each message is one line that says what is wrong and what to do."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from inspect import signature
from typing import Any


class _Bare(str):
    """A word of the message itself, not a value given by the user: shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


NOTHING = _Bare("nothing")
MOST_LISTED = 25  # names of which all are listed; of more only FEW
FEW = 5
MOST_COMPARED = 10_000  # names that are searched for a similar one

_END = r"\S*?(?=['\"),;:.\]}]*(?:\s|$))"  # of a word, without the punctuation after it
# A password in a URL. It may have a space or begin as a port does; a path may have lost a slash.
_PASSWORD = re.compile(
    r"""(:/+(?!\[[\d:.a-fA-F]*\])[^\s:/@]*:)(?=\S)  # of a user, not of an IPv6 address
    (?!\d{1,5}/(?:[^\s@]{0,500}/)?v1/)  # the port of a service, whose paths may have @
    (?!\d{1,5}(?:/[^\s@]{0,500}|['"),;:\]]*)(?:\s|$))  # a port, and a path without one
    (?:[^@\n]{0,200}@(?:\S*@)?|\S*@)""",
    re.VERBOSE,
)
_SECRETS = (
    (re.compile(rf"(th_[0-9a-f]{{12}}_){_END}"), r"\1***"),  # a token, whole or not
    (re.compile(rf"(th_)(?=\S{{40}}){_END}"), r"\1***"),  # what was meant as one
    (_PASSWORD, r"\1***@"),
    (re.compile(r"(?i)(password\s*=\s*)(?:'[^']*'|[^\s&]+)"), r"\1***"),
)


class ThriftyError(Exception):
    """Base of all errors that thrifty raises on purpose."""

    def __str__(self) -> str:
        return redacted(escaped(Exception.__str__(self)))  # a KeyError's own has quotes


class InvalidInput(ThriftyError, ValueError):
    """A value that cannot be used: where it was found, and a sentence that says what to do."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.where, self.message = where, message

    @classmethod
    def expected(cls, where: str, what: str, got: object, *, hint: str = "") -> "InvalidInput":
        """An error of the form `where: what expected, got this; hint`, where that reads well."""
        return cls(where, f"{what} expected, got {shown(got)}" + (f"; {hint}" if hint else ""))

    def __reduce__(self) -> tuple[type["InvalidInput"], tuple[str, str]]:
        return type(self), (self.where, self.message)


class MissingInput(ThriftyError, ValueError):
    """A required value that was not given; the message says how to give it."""


class MissingPackage(ThriftyError, ImportError):
    """A package that is not installed; the message says how to install it."""

    def __init__(self, needed_by: str, package: str, extra: str | None) -> None:
        install = f"in the folder of thrifty's sources run: pip install '.[{extra}]'"
        alone = f"run: pip install {package}"
        super().__init__(f"{needed_by} needs {package}; {alone if extra is None else install}")

    @classmethod
    def check(cls, needed_by: str, *packages: str, extra: str | None = "study") -> None:
        """Raise MissingPackage for the first of some packages that cannot be imported.

        extra: of thrifty, that has them; None: each is installed by itself.
        """
        for package in packages:
            try:
                import_module(_MODULES.get(package, package))
            except ImportError:
                raise cls(needed_by, package, extra) from None


_MODULES = {"Dask": "distributed", "Jinja2": "jinja2"}  # where they differ from the package's name


class UnknownName(ThriftyError, LookupError):
    """An unknown name; the message suggests the most similar known one."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = list(known)
        near = similar(name, known)
        advice = f"did you mean {near!r}?" if near else f"known: {_listed(known) or 'none'}"
        super().__init__(f"unknown {kind} {name!r}; {advice}")
        self.kind, self.name, self.suggestion = kind, name, near


class UnknownArgument(UnknownName, TypeError):
    """A keyword that a function does not take."""

    @classmethod
    def check(cls, function: Callable[..., Any], given: Mapping[str, object]) -> None:
        """Raise UnknownArgument for the first keyword that a function does not take."""
        parameters = signature(function).parameters
        known = [name for name in parameters if name != "self"]
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            return
        for name in given:
            if name not in known:
                raise cls(f"argument of {function.__name__}", name, known)


class BadFile(ThriftyError):
    """A file that cannot be read, written or used; the message starts with its path."""


class NoStore(BadFile):
    """A store of the service that is not there yet."""


class Unreachable(ThriftyError):
    """A cluster that does not respond, or cannot do the work; a service that does not respond."""


class ServiceError(ThriftyError):
    """A request that a service has refused: its message, the HTTP status, and where it went wrong.

    where: part of the request, such as `[3].features`; empty if the service did not say.
    """

    def __init__(self, message: str, *, status: int, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.status, self.where = status, where


class CacheUnavailable(UserWarning):
    """Machine code cannot be cached on disk: every process compiles again."""


class SetAside(UserWarning):
    """A file of results failed verification; it was renamed and its results are computed again."""


def no_attribute(owner: str, name: str, known: Iterable[str]) -> AttributeError:
    """The error of an attribute that is not there, with the most similar one that is."""
    near = similar(name, [other for other in known if not other.startswith("_")])
    advice = f"; did you mean {near}?" if near and not name.startswith("_") else ""
    # obj=None: or else Python's traceback would make the same suggestion again
    return AttributeError(f"{owner} has no attribute {name!r}{advice}", name=name, obj=None)


def similar(name: str, known: Sequence[str]) -> str | None:
    """The most similar of the known names, if any is similar."""
    near = get_close_matches(name, known[:MOST_COMPARED], n=1, cutoff=0.6)
    return near[0] if near else None


def escaped(text: str) -> str:
    """Text as one line that a terminal shows as it is: other characters as in Python's repr."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def redacted(text: str) -> str:
    """Text without what looks like a secret: tokens of the service, passwords in URLs."""
    for secret, shown in _SECRETS:
        text = secret.sub(shown, text)
    return text


def first_line(error: object) -> str:
    """The first line of an error's text: libraries explain in the next ones."""
    return str(error).strip().partition("\n")[0]


def shortened(text: str) -> str:
    """Text as one line of at most 60 characters."""
    return _cut(redacted(escaped(text)))


def _listed(names: list[str]) -> str:
    if len(names) <= MOST_LISTED:
        return ", ".join(map(_cut, names))
    return f"{', '.join(map(_cut, names[:FEW]))} and {len(names) - FEW:,} others"


def shown(value: object) -> str:
    """A value in at most 60 characters of one line, as messages show it."""
    try:
        text = repr(value)
    except Exception as error:  # an integer of thousands of digits, or a user's class
        text = f"{type(value).__name__} without a text ({error})"
    return _cut(redacted(" ".join(text.split())))


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
