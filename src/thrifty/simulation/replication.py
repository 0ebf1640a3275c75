"""One replication: a policy, compiled or in plain Python, plays an instance for some rounds."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from thrifty.numerics.arrays import Floats, Ints
from thrifty.numerics.streams import Streams, streams
from thrifty.policies.base import Policy
from thrifty.policies.shared.plain import (
    AnyPolicy,
    PlainPolicy,
    choose_plain,
    label_names,
    start_plain,
)
from thrifty.problem.action_sets import ActionSets
from thrifty.problem.instances import Instance
from thrifty.simulation.loop import (
    Game,
    Score,
    Truth,
    cut_rounds,
    draw_context,
    draw_reward,
    play_blocks,
    score_round,
    start_score,
    truth_of,
)

BLOCK = 1 << 17  # rounds between two calls of tick, at most
BLOCK_TERMS = 1 << 25  # products x_i V^-1_ij x_j between them, roughly: a tenth of a second


@dataclass(frozen=True)
class Replication:
    """The outcome of one replication."""

    times: Ints  # (c,) checkpoints, the last is the horizon
    rounds: Ints  # (c, L) up to each checkpoint, by label
    regret: Floats  # (c, L) up to each checkpoint, by label
    pulls: Ints  # (c, k) up to each checkpoint, by row of the action sets; (c, 0) if not kept
    solves: int  # of the allocation program
    unsolved: int  # those of them that missed its tolerance


Tick = Callable[[int], None]  # called now and then with the rounds played since the last call


def checkpoints(horizon: int, *, linear: int = 50, per_decade: int = 10) -> Ints:
    """Rounds at which regret is kept: log-spaced, and linearly spaced for plots on a plain axis."""
    decades = np.log10(horizon)
    spaced = np.round(10 ** np.linspace(0, decades, int(np.ceil(decades * per_decade)) + 1))
    even = np.round(np.linspace(0, horizon, linear + 1))[1:]
    times = np.concatenate([spaced, even, [horizon]])
    return np.unique(times.clip(1, horizon).astype(np.int64))


def simulate(
    instance: Instance,
    policy: AnyPolicy,
    *,
    horizon: int,
    seed: int = 0,
    replication: int = 0,
    rewards: str = "gaussian",
    pulls: bool = False,
    times: Ints | None = None,
    rounds: int | None = None,
    tick: Tick | None = None,
) -> Replication:
    """Let a policy play an instance; regret is against the best arm under the present theta.

    pulls : whether to keep the pulls of each arm
    times : (c,) checkpoints, the last is the horizon
    rounds : play only the first so many; all by default
    tick : called now and then with the rounds played since the last call
    """
    truth, generators = truth_of(instance, rewards), streams(seed, replication)
    times = checkpoints(horizon) if times is None else times
    kept = len(instance.sets.rows) if pulls else 0
    score = start_score(times, len(label_names(policy)), kept)
    stretches = cut_rounds(instance, truth, rounds or horizon)
    solves, unsolved = 0, 0
    if isinstance(policy, Policy):
        state = policy.start(instance.sets, noise=truth.told, horizon=horizon)
        terms = instance.sets.rows.size * instance.sets.dimension
        block = max(1, min(BLOCK, BLOCK_TERMS // terms))
        _play(play_blocks(Game(state, truth, score, generators), stretches, block), tick)
        counters = state.ledger.counters[0]
        solves, unsolved = int(counters.solves), int(counters.unsolved)
    else:
        sets, rng = instance.sets, generators.uniforms
        player = start_plain(policy, sets, noise=truth.told, horizon=horizon, rng=rng)
        _play(_play_plain(player, sets, truth, score, generators, stretches), tick)
    return Replication(
        score.times, score.rounds_at, score.regret_at, score.pulls_at, solves, unsolved
    )


def _play(blocks: Iterator[int], tick: Tick | None) -> None:
    for rounds in blocks:
        if tick is not None:
            tick(rounds)


def _play_plain(
    player: PlainPolicy,
    sets: ActionSets,
    truth: Truth,
    score: Score,
    generators: Streams,
    stretches: Iterable[range],
) -> Iterator[int]:
    """Play a plain policy on the same contexts and noise as compiled ones; yields per round."""
    chosen = np.zeros(len(sets.rows), np.int64)
    for played in chain.from_iterable(stretches):
        context = draw_context(truth.law, generators.contexts.random()) if sets.contexts > 1 else 0
        arm = choose_plain(player, sets, context)
        row = int(sets.offsets[context]) + arm
        player.learn(context, arm, draw_reward(truth, row, generators.rewards))
        chosen[row] += 1
        score_round(score, 0, truth.gaps[row], played + 1, chosen)
        yield 1
