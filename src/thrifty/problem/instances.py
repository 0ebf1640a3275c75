"""Instance: action sets and the truth that only a simulator knows; TOML files."""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thrifty.errors import BadFile, InvalidInput, UnknownName
from thrifty.files import read_toml, toml_literal, write_whole
from thrifty.numerics.arrays import Bools, Floats, Ints, finite_numbers, positive_number
from thrifty.problem.action_sets import ActionSets, default_names
from thrifty.problem.names import check_name
from thrifty.problem.specs import whole_number

_Keys = tuple[str, ...]
_Table = Mapping[str, Any]
_KEYS = ("name", "theta", "noise", "contexts", "changes")
_CONTEXT_KEYS = ("name", "probability", "arms", "arm_names")
_CHANGE_KEYS = ("round", "theta")
LATEST = 10**12  # round of a change; no replication is longer


class Change(NamedTuple):
    """A change of theta after a round; rounds are counted from 1."""

    round: int  # the last with the theta before
    theta: Floats  # (d,) from round + 1 on


class Instance:
    """A linear contextual bandit: reward <x, theta> + noise in a context drawn from a law.

    If theta changes, `theta`, `means`, `gaps`, `optimal` and `best_arms` are those before the first
    change; `pieces` has those after each.

    Parameters
    ----------
    sets : the action sets, of dimension d
    theta : (d,) the parameter
    probabilities : (M,) how often each context comes, positive, summing to 1; uniform by default
    noise : standard deviation of the reward noise
    name : what to call it
    changes : pairs of a round and a theta (d,), rounds increasing; (1000, theta) is a change after
        round 1000: round 1001 is the first with this theta. By default theta stays
    """

    def __init__(
        self,
        sets: ActionSets,
        *,
        theta: ArrayLike,
        probabilities: ArrayLike | None = None,
        noise: float = 1.0,
        name: str = "",
        changes: Sequence[tuple[int, ArrayLike]] = (),
    ) -> None:
        if not isinstance(sets, ActionSets):
            raise InvalidInput.expected("sets", "thrifty.ActionSets", sets)
        self.sets = sets
        self.theta: Floats = _checked_theta(theta, sets.dimension, "theta")
        self.probabilities: Floats = _law(probabilities, sets.contexts)
        self.noise = positive_number(noise, "noise")
        check_name(name, "name")
        self.name = name
        self.changes: tuple[Change, ...] = _checked_changes(changes, sets.dimension)
        self.probabilities.setflags(write=False)

    @cached_property
    def pieces(self) -> tuple["Instance", ...]:
        """The instances without changes that are played one after the other, one per theta."""
        same: Any = {"probabilities": self.probabilities, "noise": self.noise, "name": self.name}
        thetas = self.theta, *(change.theta for change in self.changes)
        return tuple(Instance(self.sets, theta=theta, **same) for theta in thetas)

    @cached_property
    def means(self) -> Floats:
        """(k,) the mean reward of each row."""
        return inner_products(self.sets.rows, self.theta)

    @cached_property
    def gaps(self) -> Floats:
        """Suboptimality gaps (k,); exactly 0 for arms that are optimal up to rounding."""
        # |fl(x . theta) - x . theta| <= d u sum |x_i theta_i|: below the sum of both errors, twice
        # over, two means count as equal
        mass = inner_products(np.abs(self.sets.rows), np.abs(self.theta))
        first_best = [int(means.argmax()) for means in self.sets.split(self.means)]
        best = np.repeat(self.sets.offsets[:-1] + first_best, np.diff(self.sets.offsets))
        gaps = self.means[best] - self.means
        rounding = self.sets.dimension * np.finfo(float).eps * (mass + mass[best])
        return np.where(gaps <= rounding, 0.0, gaps)

    @cached_property
    def optimal(self) -> Bools:
        """(k,) whether a row is optimal in its context; ties are all optimal."""
        return np.equal(self.gaps, 0.0)

    @cached_property
    def best_arms(self) -> Ints:
        """(M,) the first optimal arm of each context, counted within the context."""
        return np.array([np.flatnonzero(best)[0] for best in self.sets.split(self.optimal)])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the instance to a TOML file, whole or not at all."""
        write_whole(Path(path), self.to_toml())

    def to_toml(self) -> str:
        """The instance as TOML; reading it gives the same numbers back to the last bit."""
        lines = [
            f"name = {toml_literal(self.name)}",
            f"theta = {toml_literal(self.theta.tolist())}",
            f"noise = {toml_literal(self.noise)}",
        ]
        named = self.sets.context_names != default_names(self.sets.contexts)
        contexts = zip(self.sets.context_names, self.probabilities.tolist(), strict=True)
        for m, (name, probability) in enumerate(contexts):
            lines += ["", "[[contexts]]"]
            if named:
                lines += [f"name = {toml_literal(name)}"]
            lines += [f"probability = {toml_literal(probability)}", "arms = ["]
            lines += [f"    {toml_literal(arm)}," for arm in self.sets.arms(m).tolist()] + ["]"]
            if self.sets.arm_names[m] != default_names(len(self.sets.arms(m))):
                lines += [f"arm_names = {toml_literal(list(self.sets.arm_names[m]))}"]
        for change in self.changes:
            lines += ["", "[[changes]]", f"round = {change.round}"]
            lines += [f"theta = {toml_literal(change.theta.tolist())}"]
        return "\n".join(lines) + "\n"

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Instance":
        """Read an instance from a TOML file."""
        try:
            # characters that are not UTF-8 as escapes: a name must be text
            stem = Path(path).stem.encode(errors="backslashreplace").decode()
            return _from_document(read_toml(Path(path))[0], default_name=stem)
        except (InvalidInput, UnknownName) as error:
            raise BadFile(f"{path}: {error}") from None

    def _key(self) -> tuple[Any, ...]:
        """What equal instances have in common; equal numbers have equal bits."""
        arrays = self.theta.tobytes(), self.probabilities.tobytes()
        changes = [(change.round, change.theta.tobytes()) for change in self.changes]
        return self.sets, *arrays, self.noise, self.name, *changes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instance) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        sets, changes = self.sets, f", {len(self.changes)} changes" if self.changes else ""
        sizes = f"{sets.contexts} contexts, {len(sets.rows)} arms, d={sets.dimension}"
        return f"Instance({self.name!r}, {sizes}{changes})"


def _checked_changes(changes: Any, dimension: int) -> tuple[Change, ...]:
    """Pairs of a round and a theta (d,) as changes, their rounds increasing."""
    if isinstance(changes, str) or not isinstance(changes, Sequence | np.ndarray):
        raise InvalidInput.expected("changes", "a list of (round, theta)", changes)
    checked: list[Change] = []
    for i, pair in enumerate(changes):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise InvalidInput.expected(f"changes[{i}]", "a round and a theta", pair)
        earliest = checked[-1].round + 1 if checked else 1
        last = whole_number(pair[0], f"changes[{i}].round", LATEST, least=earliest)
        checked.append(Change(last, _checked_theta(pair[1], dimension, f"changes[{i}].theta")))
    return tuple(checked)


def _checked_theta(values: ArrayLike, dimension: int, where: str) -> Floats:
    """A finite theta (d,) that nobody can write to."""
    theta = finite_numbers(values, where)
    if len(theta) != dimension:
        expected = f"{dimension} numbers (arms have {dimension})"
        raise InvalidInput.expected(where, expected, len(theta))
    theta.setflags(write=False)
    return theta


def _law(probabilities: ArrayLike | None, contexts: int) -> Floats:
    """(M,) a checked context law."""
    if probabilities is None:
        return np.full(contexts, 1.0 / contexts)
    law = finite_numbers(probabilities, "probabilities")
    if len(law) != contexts:
        raise InvalidInput("probabilities", f"one per context expected: {contexts}, got {len(law)}")
    for m in np.flatnonzero(law <= 0):
        advice = "leave out contexts that never occur"
        raise InvalidInput(f"probabilities[{m}]", f"{law[m]:g} is not positive: {advice}")
    if abs(law.sum() - 1) > 1e-9:
        raise InvalidInput("", f"probabilities sum to {law.sum():.10g}, not 1")
    return law


def inner_products(rows: Floats, theta: Floats) -> Floats:
    """(k,) <x, theta> for rows (k, d), summed in order: bits of BLAS depend on the processor."""
    totals = np.zeros(len(rows))
    for i in range(theta.size):
        totals += rows[:, i] * theta[i]
    return totals


def _from_document(document: _Table, *, default_name: str) -> Instance:
    """An instance from the parsed TOML."""
    _check_keys(document, _KEYS, required=("theta",), where="")
    contexts = _tables(document, "contexts", _CONTEXT_KEYS, required=("arms",))
    if not contexts:
        raise InvalidInput("", "no [[contexts]]; add one with arms = [[...], ...]")
    for m, table in enumerate(contexts):
        if "probability" in table:
            positive_number(table["probability"], f"contexts[{m}].probability")
    changes = _tables(document, "changes", _CHANGE_KEYS, required=_CHANGE_KEYS)
    names = default_names(len(contexts))
    sets = ActionSets(
        [table["arms"] for table in contexts],
        context_names=[table.get("name", names[m]) for m, table in enumerate(contexts)],
        arm_names=[table.get("arm_names") for table in contexts],
    )
    without = [m for m, table in enumerate(contexts) if "probability" not in table]
    if 0 < len(without) < len(contexts):
        where = f"contexts[{without[0]}].probability"
        raise InvalidInput("", f"{where} is missing; other contexts have one")
    return Instance(
        sets,
        theta=document["theta"],
        probabilities=None if without else [table["probability"] for table in contexts],
        noise=document.get("noise", 1.0),
        name=document.get("name", default_name),
        changes=[(table["round"], table["theta"]) for table in changes],
    )


def _tables(document: _Table, name: str, known: _Keys, *, required: _Keys) -> list[_Table]:
    """The tables [[name]] of a file, their keys checked."""
    tables = document.get(name, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InvalidInput.expected(name, f"[[{name}]] tables", tables)
    for i, table in enumerate(tables):
        _check_keys(table, known, required=required, where=f"{name}[{i}].")
    return tables


def _check_keys(table: _Table, known: _Keys, *, required: _Keys, where: str) -> None:
    for key in table:
        if key not in known:
            raise UnknownName("key", where + key, [where + name for name in known])
    for key in required:
        if key not in table:
            raise InvalidInput("", f"{where}{key} is missing")
