"""One replicate: a policy plays an instance for a number of rounds. The loop for all compiled policies lives here, once.

Luck is paired: contexts and noise come from generators that depend on (seed, replicate) alone, so that all policies face the same; a policy's own
randomness is another stream. The noise of a round is drawn whatever arm is played.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numba
import numpy as np

from thrifty.arrays import Floats, Ints
from thrifty.compilation import KERNEL, kernel
from thrifty.errors import InvalidInput
from thrifty.instances import Instance
from thrifty.policies.base import ROUNDS, SOLVES, UNSOLVED, Choice, Ledger, Policy, choose, learn

BLOCK = 1 << 17  # rounds between two looks at the clock
REWARDS = ("gaussian", "bernoulli")
SUBGAUSSIAN = 0.5  # the noise that policies are told of when rewards lie in [0, 1]


class Streams(NamedTuple):
    """The generators of one replicate."""

    contexts: np.random.Generator
    noise: np.random.Generator
    normals: np.random.Generator  # of the policy
    uniforms: np.random.Generator  # of the policy


class Truth(NamedTuple):
    """What only the simulator knows."""

    law: Floats  # (M,) cumulated
    rows: Ints  # (k,) 0, 1, 2, ...
    means: Floats  # (k,)
    gaps: Floats  # (k,)
    noise: float
    bernoulli: bool


class Score(NamedTuple):
    """What is written down, for L labels; regret is pseudo-regret, free of noise."""

    times: Ints  # (c,) rounds after which to take a snapshot, increasing
    taken: Ints  # (1,) snapshots so far
    rounds: Ints  # (L,) by label, so far
    regret: Floats  # (L,) by label, so far
    rounds_at: Ints  # (c, L)
    regret_at: Floats  # (c, L)


@dataclass(frozen=True)
class Replicate:
    """What one replicate gave.

    Attributes
    ----------
    times : (c,) checkpoints, the last is the horizon
    rounds, regret : (c, L) up to each checkpoint, split by label
    solves, unsolved : how often the policy solved the allocation program, and how often without reaching its tolerance
    """

    times: Ints
    rounds: Ints
    regret: Floats
    solves: int
    unsolved: int


def streams(seed: int, replicate: int) -> Streams:
    """The luck of a replicate."""
    return Streams(*(np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(replicate, stream)))) for stream in range(4)))


def checkpoints(horizon: int, *, linear: int = 50, per_decade: int = 10) -> Ints:
    """Rounds at which regret is written down: log-spaced, and linearly spaced for plots on a plain axis."""
    decades = np.log10(horizon)
    log_spaced = np.round(10 ** np.linspace(0, decades, int(np.ceil(decades * per_decade)) + 1))
    return np.unique(np.concatenate([log_spaced, np.round(np.linspace(0, horizon, linear + 1))[1:], [horizon]]).clip(1, horizon).astype(np.int64))


def truth_of(instance: Instance, rewards: str = "gaussian") -> Truth:
    """The instance as the loop reads it."""
    if rewards not in REWARDS:
        raise InvalidInput("rewards", " or ".join(REWARDS), rewards)
    if rewards == "bernoulli" and not ((instance.means >= 0) & (instance.means <= 1)).all():
        worst = float(instance.means[np.abs(instance.means - 0.5).argmax()])
        raise InvalidInput(f"{instance.name}: rewards", "means between 0 and 1 for Bernoulli rewards", worst)
    law = instance.probabilities.cumsum()
    law[-1] = 1.0
    return Truth(law, np.arange(len(instance.means)), instance.means, instance.gaps, instance.noise, rewards == "bernoulli")


def told_noise(instance: Instance, rewards: str) -> float:
    """The standard deviation that a policy is told: the truth, or 1/2, which bounds rewards in [0, 1]."""
    return SUBGAUSSIAN if rewards == "bernoulli" else instance.noise


@kernel
def draw_context(law: Floats, uniform: float) -> int:
    """The context at a point of the cumulated law (M,)."""
    low, high = 0, law.size - 1
    while low < high:
        middle = (low + high) // 2
        if uniform < law[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def draw_reward(truth: Truth, row: int, noise: np.random.Generator) -> float:
    """The reward of a row: one draw of the noise stream, whatever the row."""
    if truth.bernoulli:
        return 1.0 if noise.random() < truth.means[row] else 0.0
    return truth.means[row] + truth.noise * noise.standard_normal()


@kernel
def record(ledger: Ledger, choice: Choice) -> None:
    """Count a choice, before its reward is known."""
    ledger.played[ledger.vector_ids[choice.row]] += 1
    ledger.clock[ROUNDS] += 1


@kernel
def score_round(score: Score, label: int, gap: float, now: int) -> None:
    """Count a round and its regret; take a snapshot if it is time."""
    score.rounds[label] += 1
    score.regret[label] += gap
    taken = score.taken[0]
    if now == score.times[taken]:
        for l in range(score.rounds.size):
            score.rounds_at[taken, l] = score.rounds[l]
            score.regret_at[taken, l] = score.regret[l]
        score.taken[0] = min(taken + 1, score.times.size - 1)


def _play(state: Any, truth: Truth, score: Score, luck: Streams, stop: int) -> None:
    """Go on playing until round stop."""
    ledger, offsets = state.ledger, state.ledger.offsets
    normals, uniforms, clock = ledger.normals, ledger.uniforms, ledger.clock
    contexts, noise, own_normals, own_uniforms = luck.contexts, luck.noise, luck.normals, luck.uniforms
    while clock[ROUNDS] < stop:
        context = draw_context(truth.law, contexts.random()) if truth.law.size > 1 else 0
        for i in range(normals.size):
            normals[i] = own_normals.standard_normal()
        for i in range(uniforms.size):
            uniforms[i] = own_uniforms.random()
        choice = choose(state, context, truth.rows[offsets[context] : offsets[context + 1]])
        record(ledger, choice)
        learn(state, choice.row, choice.label, draw_reward(truth, choice.row, noise))
        score_round(score, choice.label, truth.gaps[choice.row], clock[ROUNDS])


_play_cached = kernel(_play)
_play_fresh = numba.njit(**KERNEL)(_play)  # for policies whose source thrifty's cache does not know of


def simulate(
    instance: Instance,
    policy: Policy,
    *,
    horizon: int,
    seed: int = 0,
    replicate: int = 0,
    rewards: str = "gaussian",
    times: Ints | None = None,
    tick: Callable[[int], None] | None = None,
) -> Replicate:
    """Let a policy play an instance; tick is called now and then with the number of rounds played since the last call."""
    truth, luck = truth_of(instance, rewards), streams(seed, replicate)
    times = checkpoints(horizon) if times is None else times
    labels = len(policy.labels)
    score = Score(times, np.zeros(1, np.int64), np.zeros(labels, np.int64), np.zeros(labels), np.zeros((len(times), labels), np.int64), np.zeros((len(times), labels)))
    state = policy.start(instance.sets, noise=told_noise(instance, rewards), horizon=horizon)
    play = _play_cached if type(state).__module__.startswith("thrifty.") else _play_fresh
    for start, stop in _blocks(horizon):
        play(state, truth, score, luck, stop)
        if tick is not None:
            tick(stop - start)
    clock = state.ledger.clock
    return Replicate(times, score.rounds_at, score.regret_at, int(clock[SOLVES]), int(clock[UNSOLVED]))


def _blocks(horizon: int) -> Iterator[tuple[int, int]]:
    for start in range(0, horizon, BLOCK):
        yield start, min(start + BLOCK, horizon)
