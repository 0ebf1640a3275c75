"""Numbers of twice the precision: unevaluated sums high + low of two floats, about 32 digits.

Dekker (1971) and Knuth's exact sums and products. Correct as long as nothing overflows: factors
below 1e290.
"""

import math

from thrifty.compiler.compilation import kernel

Double = tuple[float, float]  # high, low

SPLITTER = 2.0**27 + 1.0  # splits the 53 bits of a float into two halves


@kernel
def two_sum(a: float, b: float) -> Double:
    """a + b, exactly."""
    high = a + b
    part = high - a
    return high, (a - (high - part)) + (b - part)


@kernel
def two_product(a: float, b: float) -> Double:
    """a b, exactly."""
    high = a * b
    t = SPLITTER * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = SPLITTER * b
    b_high = t - (t - b)
    b_low = b - b_high
    return high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel
def add(a: Double, b: Double) -> Double:
    """a + b."""
    high, low = two_sum(a[0], b[0])
    other, rest = two_sum(a[1], b[1])
    high, low = two_sum(high, low + other)
    return two_sum(high, low + rest)


@kernel
def multiply(a: Double, b: Double) -> Double:
    """A product a b."""
    high, low = two_product(a[0], b[0])
    return two_sum(high, low + (a[0] * b[1] + a[1] * b[0]))


@kernel
def negative(a: Double) -> Double:
    """-a."""
    return -a[0], -a[1]


@kernel
def divide(a: Double, b: Double) -> Double:
    """a / b, by two corrections of the quotient of the high parts."""
    first = a[0] / b[0]
    rest = add(a, negative(multiply((first, 0.0), b)))
    second = rest[0] / b[0]
    rest = add(rest, negative(multiply((second, 0.0), b)))
    return add(two_sum(first, second), (rest[0] / b[0], 0.0))


@kernel
def square_root(a: Double) -> Double:
    """The root of a > 0, by a Newton step from that of the high part."""
    root = math.sqrt(a[0])
    rest = add(a, negative(two_product(root, root)))
    return two_sum(root, rest[0] / (2.0 * root))
