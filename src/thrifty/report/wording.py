"""Numbers in words, as tables, pages and messages have them."""

import math


def plain(number: float, digits: int) -> str:
    """A number to so many digits, never in powers of ten unless it is tiny."""
    return f"{float(f'{number:.{digits}g}'):,.10g}"


def printable(name: str, most: int = 200) -> str:
    """A name without characters that would move a cursor or break a file, and not too long."""
    text = "".join(character if character.isprintable() else "?" for character in name)
    return text if len(text) <= most else text[: most - 1] + "…"


def with_error(value: float, error: float, digits: int = 3) -> str:
    """A number with its standard error, if that is known."""
    return plain(value, digits) + ("" if math.isnan(error) else f" ± {plain(error, 2)}")


def power(n: int) -> str:
    """10,000 as 1e4; other numbers as they are."""
    exponent = math.log10(n)
    return f"1e{round(exponent)}" if n >= 1000 and exponent == round(exponent) else f"{n:,}"


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 arm`, `2 arms`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
