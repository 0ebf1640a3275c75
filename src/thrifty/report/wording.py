"""Numbers and names as text, for tables, pages and messages."""

import math
from collections.abc import Sequence

from thrifty.errors import escaped

ROUNDING = 1e-12  # a standard error below this share of a number is none


def plain(number: float, digits: int) -> str:
    """A number with `digits` significant digits, without an exponent unless it is tiny."""
    return f"{float(f'{number:.{digits}g}'):,.10g}"


def printable(name: str, most: int = 200) -> str:
    """A name with control characters escaped, shortened to `most` characters."""
    text = escaped(name)
    return text if len(text) <= most else text[: most - 1] + "…"


def with_error(value: float, error: float, digits: int = 3) -> str:
    """A number with its standard error, unless that is NaN."""
    if error < ROUNDING * abs(value):
        error = 0.0
    return plain(value, digits) + ("" if math.isnan(error) else f" ± {plain(error, 2)}")


def with_errors(value: float, *errors: float) -> str:
    """A number with several standard errors, a hyphen for NaN: `0.8 ± 0.03 ± -`."""
    shown = ("-" if math.isnan(error) else plain(error, 2) for error in errors)
    return " ± ".join([plain(value, 3), *shown])


def power(n: int) -> str:
    """A power of ten from 1,000 on as `1e4`; other numbers with commas."""
    exponent = math.log10(n)
    return f"1e{round(exponent)}" if n >= 1000 and exponent == round(exponent) else f"{n:,}"


def count(number: int, noun: str, plural: str = "") -> str:
    """A number with a noun: `1 arm`, `2,000 arms`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listing(items: Sequence[str]) -> str:
    """Items as text: `a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
