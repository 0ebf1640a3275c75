"""Named instances: those of the paper, variants of them, and others from the literature.

A name is a family with parameters, `end-of-optimism:eps=0.01,a=2`, or an alias for one,
`fixed-u0.1`. A family that draws can be drawn anew in each replication of a study:
`random-theta:seed=each`.
"""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from numpy.random import Generator

from thrifty.errors import InvalidInput, UnknownName
from thrifty.numerics.arrays import Floats
from thrifty.problem.action_sets import ActionSets
from thrifty.problem.instances import Instance, inner_products
from thrifty.problem.specs import first_paragraph, parsed, split_parameters


@dataclass(frozen=True)
class Family:
    """A parametrised kind of instance: its name, parameters with defaults, and definition."""

    name: str
    make: Callable[..., Instance]
    parameters: dict[str, float | str]  # with their defaults
    definition: str
    bounds: dict[str, tuple[float, float]]  # of parameters; numbers that are not whole lie between
    members: tuple[str, ...]  # its names in the catalog
    sizes_vary: bool  # whether the seed decides how many contexts and arms there are


FAMILIES: dict[str, Family] = {}
ALIASES: dict[str, str] = {}


@dataclass(frozen=True)
class Ensemble:
    """A family drawn anew in each replication: `random-theta:seed=each`."""

    name: str

    def instance(self, seed: int, replication: int) -> Instance:
        """The instance of a replication; its name carries the seed it was drawn by."""
        sequence = np.random.SeedSequence(seed, spawn_key=(replication, _ENSEMBLE_STREAM))
        return instance(self.name.replace(EACH, f"seed={sequence.generate_state(1)[0]}"))

    @property
    def sizes_vary(self) -> bool:
        """Whether its instances differ in the number of contexts or arms."""
        return FAMILIES[self.name.partition(":")[0]].sizes_vary


Problem = Instance | Ensemble  # what a study can be about


def instance_of(problem: Problem, seed: int, replication: int) -> Instance:
    """The instance of a replication; an ensemble draws one per replication."""
    return problem.instance(seed, replication) if isinstance(problem, Ensemble) else problem


EACH = "seed=each"
MOST_CHANGES = 10_000  # of a drifting instance
_ENSEMBLE_STREAM = 4  # after the four streams of a replication (numerics/streams.py)


def problem(name: str | os.PathLike[str]) -> Problem:
    """An instance by its name or file; or, with `seed=each` among its parameters, an ensemble."""
    text = _text(name)
    family, _, pairs = text.partition(":")
    if EACH not in pairs.split(",") or family not in FAMILIES:
        return instance(text)
    ensemble = Ensemble(text)
    ensemble.instance(0, 0)  # so that mistakes in the name show
    return ensemble


def instance(name: str | os.PathLike[str]) -> Instance:
    """An instance of the catalog, `fixed-u0.1` or `end-of-optimism:eps=0.01`, or a TOML file."""
    text = _text(name)
    family, _, pairs = ALIASES.get(text, text).partition(":")
    is_path = text.endswith(".toml") or os.sep in text
    if is_path or (family not in FAMILIES and os.path.isfile(text)):
        return Instance.load(text)
    if family not in FAMILIES:
        raise UnknownName("instance", text, dict.fromkeys([*CATALOG, *FAMILIES]))
    made = FAMILIES[family].make(**_parameters(FAMILIES[family], pairs))
    made.name = text
    return made


def _text(name: str | os.PathLike[str]) -> str:
    text = os.fspath(name) if isinstance(name, str | os.PathLike) else name
    if not isinstance(text, str):
        raise InvalidInput.expected("instance", "a name such as fixed-u0.1, or a path", name)
    return text


def describe() -> list[dict[str, Any]]:
    """The instances of the catalog: name, sizes, family, parameters, definition."""
    return [
        {
            "name": name,
            "contexts": sets.contexts,
            "arms": len(sets.rows),
            "dimension": sets.dimension,
            "parameters": {} if name in ALIASES else family.parameters,
            "family": family.name,
            "family_parameters": family.parameters,
            "definition": family.definition,
        }
        for family in FAMILIES.values()
        for name in family.members
        for sets in (instance(name).sets,)
    ]


def _parameters(family: Family, pairs: str) -> dict[str, float | str]:
    """Parse key=value,key=value for a family; each value is of the type of its default."""
    parameters: dict[str, float | str] = {}
    known, prefix = family.parameters, f"{family.name}:"
    for key, text in split_parameters(pairs, known, owner=family.name, where=prefix).items():
        kind, where = type(known[key]), prefix + key
        parameters[key] = value = parsed(text, kind, where)
        if key in family.bounds:
            low, high = family.bounds[key]
            if kind is float:
                _require(low < value < high, where, f"a number between {low:g} and {high:g}", value)
            else:
                words = f"a number from {low} to {high}" if high < math.inf else f"at least {low}"
                _require(low <= value <= high, where, words, value)
    return parameters


def _family(
    name: str,
    *,
    aliases: dict[str, str] | None = None,
    sizes_vary: bool = False,
    **bounds: tuple[float, float],
) -> Callable[[Callable[..., Instance]], Callable[..., Instance]]:
    """Register a family; aliases: the catalog's names for some of its parameters."""

    def register(make: Callable[..., Instance]) -> Callable[..., Instance]:
        ALIASES.update({alias: f"{name}:{pairs}" for alias, pairs in (aliases or {}).items()})
        FAMILIES[name] = Family(
            name,
            make,
            parameters={key: value.default for key, value in signature(make).parameters.items()},
            definition=first_paragraph(make),
            bounds={"seed": (0, math.inf)} | bounds,
            members=tuple(aliases or [name]),
            sizes_vary=sizes_vary,
        )
        return make

    return register


def _require(holds: bool, where: str, expected: str, got: float | str) -> None:
    if not holds:
        raise InvalidInput.expected(where, expected, got)


@_family("fixed", aliases={f"fixed-u{u}": f"u={u}" for u in (0.1, 0.2, 0.01, 0.02)}, u=(0, 1))
def _fixed(u: float = 0.1) -> Instance:
    """One set (1,0), (0,1), (1-u,5u); theta (1,0). The paper has u = 0.1 and 0.2; below 0.04 the
    arm (0,1) is the cheaper source of information.
    """
    return Instance(ActionSets([np.array([[1, 0], [0, 1], [1 - u, 5 * u]])]), theta=[1, 0])


@_family("scenario-one")
def _scenario_one() -> Instance:
    """The paper's changing sets, p = 0.3/0.7 in R^3: neither set spans the space, and the optimal
    allocation is not unique.
    """
    first: list[list[float]] = [[1, 0, 0], [0, 1, 0], [0.9, 0.5, 0]]
    second: list[list[float]] = [[0, 1, 0], [0, 0, 1], [0, 0.5, 0.9]]
    return Instance(ActionSets([first, second]), theta=[1, 0, 1], probabilities=[0.3, 0.7])


def _rare_context(probabilities: list[float]) -> Instance:
    first: list[list[float]] = [[1, 0], [0, 1], [0.9, 0.5]]
    second: list[list[float]] = [[0, 1], [-1, 0], [-1, 0]]
    return Instance(ActionSets([first, second]), theta=[1, 0], probabilities=probabilities)


@_family("scenario-two")
def _scenario_two() -> Instance:
    """The paper's rare context, p = 0.99/0.01: the optimal arms span the space, but one of them is
    rarely on offer.
    """
    return _rare_context([0.99, 0.01])


@_family("bounded")
def _bounded() -> Instance:
    """Scenario two with p = 0.8/0.2: the optimal arms span, regret stays bounded."""
    return _rare_context([0.8, 0.2])


def _on_circle(arms: int, seed: int) -> Floats:
    """(arms, 2) directions uniform on the unit circle."""
    angles = np.random.default_rng(seed).uniform(0, 2 * np.pi, arms)
    # not by NumPy, whose bits depend on the processor
    return np.array([[math.cos(angle), math.sin(angle)] for angle in angles.tolist()])


@_family(
    "circle",
    # of the draws with seeds 0 to 100, those of median C: the constant of a random set has a heavy
    # tail, and the paper names no draw
    aliases={"large-100": "arms=100,seed=87", "small-5": "arms=5,seed=24"},
    arms=(1, 1_000_000),
)
def _circle(arms: int = 100, seed: int = 0) -> Instance:
    """Arms uniform on the unit circle (by seed), theta (1,0); the paper has 100 and 5 arms."""
    return Instance(ActionSets([_on_circle(arms, seed)]), theta=[1, 0])


@_family("random-theta", arms=(1, 1_000_000))
def _random_theta(arms: int = 100, seed: int = 0) -> Instance:
    """The arms of large-100 with theta ~ N(0, 10 I) normalised. The paper draws theta anew in each
    replication: seed=each.
    """
    theta = np.random.default_rng([seed, 1]).normal(scale=np.sqrt(10), size=2)
    theta /= math.sqrt(theta[0] ** 2 + theta[1] ** 2)
    return Instance(ActionSets([_on_circle(arms, 87)]), theta=theta)


@_family("end-of-optimism", eps=(0, 1), a=(0, 1e100))
def _end_of_optimism(eps: float = 0.01, a: float = 2.0) -> Instance:
    """(1,0), (0,1), (1-eps,a eps); theta (1,0) (Lattimore and Szepesvari 2017): C = min(2 a^2,
    2/eps) for a >= 1.
    """
    return Instance(ActionSets([np.array([[1, 0], [0, 1], [1 - eps, a * eps]])]), theta=[1, 0])


@_family("two-contexts", eps=(0, 1))
def _two_contexts(eps: float = 0.05) -> Instance:
    """{(1,0), (1-eps,2 eps)} and {(1,0), (0,1)}, equally likely; theta (1,0). The question is in
    the first context, the cheap answer in the second: C = min(8, 2/eps).
    """
    sets: list[list[list[float]]] = [[[1, 0], [1 - eps, 2 * eps]], [[1, 0], [0, 1]]]
    return Instance(ActionSets(sets), theta=[1, 0])


@_family("weighing", order=(1, 8), gap=(0, 0.3), size=(0, 1e100))
def _weighing(order: int = 3, gap: float = 0.1, size: float = 0.25) -> Instance:
    """e_0; k = 2^order arms (1-gap) e_0 + size e_i; k arms (1 - 3.11 gap) e_0 + size h_i, with the
    rows h_i of a Hadamard matrix, each of which weighs all directions at once: C = 6.22/gap for k =
    4 or 8, where single directions cost 2 k/gap.
    """
    k = 2**order
    hadamard = np.ones((1, 1))
    for _ in range(order):
        hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
    rows = np.zeros((2 * k + 1, k + 1))
    rows[:, 0] = np.repeat([1.0, 1.0 - gap, 1.0 - 3.11 * gap], [1, k, k])
    rows[1 : k + 1, 1:] = size * np.eye(k)
    rows[k + 1 :, 1:] = size * hadamard
    return Instance(ActionSets([rows]), theta=np.eye(k + 1)[0])


@_family("orthogonal", d=(1, 1000), gap=(0, 1e100))
def _orthogonal(d: int = 5, gap: float = 0.2) -> Instance:
    """e_1..e_d with gaps 0, gap, 2 gap, ...: the K-armed bandit, C = sum of 2/gap (Lai and Robbins
    1985).
    """
    return Instance(ActionSets([np.eye(d)]), theta=1.0 - gap * np.arange(d))


@_family("ids-eoo")
def _ids_eoo() -> Instance:
    """end-of-optimism, eps = 0.01, a = 4, noise variance 0.1 (Kirschner et al. 2021): C = 3.2."""
    made = _end_of_optimism(eps=0.01, a=4.0)
    return Instance(made.sets, theta=made.theta, noise=np.sqrt(0.1))


@_family("solid-toy", xi=(0, 0.2), p=(0, 1))
def _solid_toy(xi: float = 0.1, p: float = 0.5) -> Instance:
    """Two contexts in R^3 (after Tirinzoni et al. 2020); exploration for the first is cheaper in
    the second, C = 10.
    """
    # the definition is from memory of the paper: check it against the original before comparing
    # with its figures
    first: list[list[float]] = [[1, 0, 0], [0, 1, 0], [1 - xi, 2 * xi, 0]]
    second: list[list[float]] = [[0, 0.6, 0.8], [0, 0, 1], [0, xi / 10, 1 - xi]]
    return Instance(ActionSets([first, second]), theta=[1, 0, 1], probabilities=[p, 1 - p])


@_family("drawn", sizes_vary=True)
def _drawn(seed: int = 0) -> Instance:
    """Drawn by seed: d from 2 to 20, 1 to 10 contexts with probabilities down to 0.01, 2 to 200
    arms in random order, gaps from tiny to large, noise from 0.1 to 2.
    """
    rng = np.random.default_rng([seed, 2])
    d, contexts = int(rng.choice([2, 2, 3, 5, 10, 20])), int(rng.choice([1, 1, 2, 4, 10]))
    arms = int(rng.choice([3, 5, 10, 20, 50, 100, 200] if contexts == 1 else [2, 4, 8, 16]))
    kind = str(rng.choice(["sphere", "ball", "shared", "offset", "close"]))
    theta = _directions(rng, 1, d)[0] * rng.choice([0.2, 1.0, 1.0, 3.0])
    pool = _directions(rng, max(arms, d), d)
    sets = [_draw_set(rng, kind, arms, theta, pool) for _ in range(contexts)]
    law = np.maximum(rng.dirichlet(np.full(contexts, 0.5)), 0.01)
    noise = float(rng.choice([0.1, 0.5, 1.0, 2.0]))
    return Instance(
        # in random order: the first arms of some kinds are good ones, and ties favour the first
        ActionSets([rng.permutation(rows) for rows in sets]),
        theta=theta,
        probabilities=law / law.sum(),
        noise=noise,
    )


@_family("k-armed", arms=(1, 1000))
def _k_armed(arms: int = 10, seed: int = 0) -> Instance:
    """A plain bandit: e_1, ..., e_K with means uniform in [0, 1], drawn by seed, noise 0.5."""
    means = np.random.default_rng([seed, 3]).uniform(size=arms)
    return Instance(ActionSets([np.eye(arms)]), theta=means, noise=0.5)


@_family("product", contexts=(1, 1000), arms=(1, 1000))
def _product(contexts: int = 6, arms: int = 5, seed: int = 0) -> Instance:
    """Products of the features of a context and of an arm, each (1, two normal numbers), drawn by
    seed: d = 9, theta ~ N(0, I / 9), noise 0.5.
    """
    rng = np.random.default_rng([seed, 4])
    sizes = contexts, arms
    of_contexts, of_arms = (np.column_stack([np.ones(n), rng.normal(size=(n, 2))]) for n in sizes)
    sets = [np.array([np.outer(x, y).ravel() for y in of_arms]) for x in of_contexts]
    return Instance(ActionSets(sets), theta=rng.normal(size=9) / 3, noise=0.5)


@_family("drifting", period=(1, 10**9), arms=(1, 1000), d=(2, 1000))
def _drifting(
    kind: str = "slow",
    period: int = 10_000,
    arms: int = 20,
    d: int = 5,
    steps: int = 50,
    rounds: int = 100_000,
    seed: int = 0,
) -> Instance:
    """Arms and theta on the unit sphere, drawn by seed, noise 0.5. Theta moves for `rounds` rounds,
    then it stays: kind=slow turns it in a plane, a full circle in `period` rounds and `steps`
    steps; kind=abrupt draws it anew every `period` rounds.
    """
    _require(kind in ("slow", "abrupt"), "drifting:kind", "slow or abrupt", kind)
    _require(1 <= steps <= period, "drifting:steps", f"a number from 1 to {period}", steps)
    per_period = steps if kind == "slow" else 1
    most = MOST_CHANGES * period // per_period
    _require(1 <= rounds <= most, "drifting:rounds", f"a number from 1 to {most}", rounds)
    rng, count = np.random.default_rng([seed, 5]), (rounds * per_period - 1) // period
    features, first = _directions(rng, arms, d), _directions(rng, 1, d)[0]
    later = (
        _on_great_circle(first, _directions(rng, 1, d)[0], steps, count)
        if kind == "slow"
        else list(_directions(rng, count, d))
    )
    changes = [(i * period // per_period, theta) for i, theta in enumerate(later, start=1)]
    return Instance(ActionSets([features]), theta=first, noise=0.5, changes=changes)


def _on_great_circle(first: Floats, second: Floats, steps: int, count: int) -> list[Floats]:
    """The next `count` unit vectors (d,) after the first, on the circle through two of them."""
    across = second - inner_products(second[None, :], first)[0] * first
    across /= math.sqrt(inner_products(across[None, :], across)[0])
    angles = [2 * math.pi * i / steps for i in range(1, count + 1)]
    return [math.cos(angle) * first + math.sin(angle) * across for angle in angles]


def _draw_set(rng: Generator, kind: str, arms: int, theta: Floats, pool: Floats) -> Floats:
    """Arms (arms, d) of a kind; `shared` arms come from a pool, two of them in every set."""
    rows = _directions(rng, arms, theta.size)
    if kind == "ball":
        rows *= rng.uniform(size=(arms, 1)) ** (1 / theta.size)
    elif kind == "shared":
        rows = pool[np.append([0, 1], rng.integers(len(pool), size=arms - 2))]
    elif kind == "offset":
        rows[:, 0] = 1.0  # a feature that all have in common
    elif kind == "close":  # the second arm is nearly as good as the best, and nearly the same
        best = int(np.argmax(inner_products(rows, theta)))
        rows[1 - min(best, 1)] = 0.98 * rows[best] + 0.1 * _directions(rng, 1, theta.size)[0]
    return rows


def _directions(rng: Generator, count: int, d: int) -> Floats:
    """(count, d) uniform on the unit sphere."""
    normals = rng.normal(size=(count, d))
    return np.asarray(normals / np.linalg.norm(normals, axis=1, keepdims=True))


CATALOG = tuple(name for family in FAMILIES.values() for name in family.members)
