"""One replicate: a policy plays an instance for a number of rounds. The loop for all compiled
policies lives here, once.

Luck is paired: contexts and noise come from generators that depend on (seed, replicate) alone, so
that all policies face the same; a policy's own randomness is another stream. The noise of a round
is drawn whatever arm is played.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from thrifty.actions import ActionSets
from thrifty.arrays import Floats, Ints
from thrifty.compilation import kernel
from thrifty.errors import InvalidInput
from thrifty.handles import Compiled, Handle
from thrifty.instances import Instance
from thrifty.policies.base import ROUNDS, SOLVES, UNSOLVED, Policy, choose, learn, record

BLOCK = 1 << 17  # rounds between two looks at the clock, at most
BLOCK_TERMS = 1 << 25  # products x_i V^-1_ij x_j between them, roughly: a tenth of a second
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


class Game(NamedTuple):
    """All that the loop needs."""

    state: Any
    truth: Truth
    score: Score
    luck: Streams


@dataclass(frozen=True)
class Replicate:
    """What one replicate gave.

    Attributes
    ----------
    times : (c,) checkpoints, the last is the horizon
    rounds, regret : (c, L) up to each checkpoint, split by label
    solves, unsolved : how often the policy solved the allocation program, and how often without
        reaching its tolerance
    """

    times: Ints
    rounds: Ints
    regret: Floats
    solves: int
    unsolved: int


def streams(seed: int, replicate: int) -> Streams:
    """The luck of a replicate."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidInput("seed", "a whole number of at least 0", seed)
    return Streams(
        *(
            np.random.Generator(
                np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(replicate, stream)))
            )
            for stream in range(4)
        )
    )


def checkpoints(horizon: int, *, linear: int = 50, per_decade: int = 10) -> Ints:
    """Rounds at which regret is written down: log-spaced, and linearly spaced for plots on a plain
    axis.
    """
    decades = np.log10(horizon)
    log_spaced = np.round(10 ** np.linspace(0, decades, int(np.ceil(decades * per_decade)) + 1))
    return np.unique(
        np.concatenate([log_spaced, np.round(np.linspace(0, horizon, linear + 1))[1:], [horizon]])
        .clip(1, horizon)
        .astype(np.int64)
    )


def start_score(times: Ints, labels: int) -> Score:
    """An empty score."""
    c = len(times)
    return Score(
        times,
        np.zeros(1, np.int64),
        np.zeros(labels, np.int64),
        np.zeros(labels),
        np.zeros((c, labels), np.int64),
        np.zeros((c, labels)),
    )


def truth_of(instance: Instance, rewards: str = "gaussian") -> Truth:
    """The instance as the loop reads it."""
    if rewards not in REWARDS:
        raise InvalidInput("rewards", " or ".join(REWARDS), rewards)
    if rewards == "bernoulli" and not ((instance.means >= 0) & (instance.means <= 1)).all():
        worst = float(instance.means[np.abs(instance.means - 0.5).argmax()])
        raise InvalidInput(
            f"{instance.name}: rewards", "means between 0 and 1 for Bernoulli rewards", worst
        )
    law = instance.probabilities.cumsum()
    law[-1] = 1.0
    return Truth(
        law,
        np.arange(len(instance.means)),
        instance.means,
        instance.gaps,
        instance.noise,
        rewards == "bernoulli",
    )


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


@kernel
def _loop(game: Game, stop: int) -> None:
    """Go on playing until round stop."""
    state, truth, score, luck = game.state, game.truth, game.score, game.luck
    ledger, offsets = state.ledger, state.ledger.offsets
    normals, uniforms, clock = ledger.normals, ledger.uniforms, ledger.clock
    contexts, noise, own_normals, own_uniforms = (
        luck.contexts,
        luck.noise,
        luck.normals,
        luck.uniforms,
    )
    while clock[ROUNDS] < stop:
        context = draw_context(truth.law, contexts.random()) if truth.law.size > 1 else 0
        for i in range(normals.size):
            normals[i] = own_normals.standard_normal()
        for i in range(uniforms.size):
            uniforms[i] = own_uniforms.random()
        choice = choose(state, context, truth.rows[offsets[context] : offsets[context + 1]])
        record(ledger, context, choice.row)
        learn(state, choice.row, choice.label, draw_reward(truth, choice.row, noise))
        score_round(score, choice.label, truth.gaps[choice.row], clock[ROUNDS])


def _play(handle: Any, stop: int) -> None:
    """The door to the loop: it holds the arrays whose references the loop does not count."""
    _loop(handle.held, stop)


def _set_up(
    state: Any, truth: Truth, score: Score, contexts: Any, noise: Any, normals: Any, uniforms: Any
) -> Any:
    """A handle of the game. Generators come one by one: inside a tuple they would make Numba look
    at the type of every array again, for a millisecond.
    """
    return Handle(Game(state, truth, score, Streams(contexts, noise, normals, uniforms)))  # type: ignore[no-untyped-call]  # Numba has no type hints here


set_up, play = Compiled(_set_up), Compiled(_play)


class PlainPolicy(Protocol):
    """A policy in plain Python: any object with these methods. `name` is optional; each replicate
    plays a copy.
    """

    def start(
        self, sets: ActionSets, *, noise: float, horizon: int, rng: np.random.Generator
    ) -> None:
        """Begin anew."""

    def choose(self, context: int) -> int:
        """The arm to play, counted within its context."""

    def learn(self, context: int, arm: int, reward: float) -> None:
        """Take in its reward."""


AnyPolicy = Policy | PlainPolicy
# called now and then with the number of rounds played since the last call
Tick = Callable[[int], None]


def name_of(policy: AnyPolicy) -> str:
    """How a policy is called in results."""
    return (
        policy.spec
        if isinstance(policy, Policy)
        else str(getattr(policy, "name", type(policy).__name__))
    )


def label_names(policy: AnyPolicy) -> tuple[str, ...]:
    """Why a policy plays arms; a plain one does not say."""
    return policy.labels if isinstance(policy, Policy) else ("played",)


def simulate(
    instance: Instance,
    policy: AnyPolicy,
    *,
    horizon: int,
    seed: int = 0,
    replicate: int = 0,
    rewards: str = "gaussian",
    times: Ints | None = None,
    rounds: int | None = None,
    tick: Tick | None = None,
) -> Replicate:
    """Let a policy play an instance.

    times : (c,) checkpoints, the last is the horizon; rounds : play only the first so many of them;
        tick : called now and then with the number of rounds played
    since the last call.
    """
    truth, luck = truth_of(instance, rewards), streams(seed, replicate)
    score = start_score(checkpoints(horizon) if times is None else times, len(label_names(policy)))
    noise = SUBGAUSSIAN if truth.bernoulli else instance.noise
    clock = np.zeros(4, dtype=np.int64)
    if isinstance(policy, Policy):
        state = policy.start(instance.sets, noise=noise, horizon=horizon)
        clock = state.ledger.clock
        block = max(
            1, min(BLOCK, BLOCK_TERMS // (instance.sets.rows.size * instance.sets.dimension))
        )
        blocks = _play_blocks(Game(state, truth, score, luck), rounds or horizon, block)
    else:
        player = _started(policy, instance.sets, noise, horizon, luck.uniforms)
        blocks = _play_plainly(player, instance.sets, truth, score, luck, rounds or horizon)
    for played in blocks:
        if tick is not None:
            tick(played)
    return Replicate(
        score.times, score.rounds_at, score.regret_at, int(clock[SOLVES]), int(clock[UNSOLVED])
    )


def _play_blocks(game: Game, rounds: int, block: int) -> Iterator[int]:
    """Play a compiled policy block by block; yields how many rounds it was each time."""
    go_on = play.of(game.state)
    handle = set_up.of(game.state)(game.state, game.truth, game.score, *game.luck)
    for start in range(0, rounds, block):
        stop = min(start + block, rounds)
        go_on(handle, stop)
        yield stop - start


def _started(
    policy: PlainPolicy, sets: ActionSets, noise: float, horizon: int, rng: np.random.Generator
) -> PlainPolicy:
    if isinstance(policy, type):
        raise InvalidInput("policy", f"an instance, {policy.__name__}()", policy)
    for method in ("start", "choose", "learn"):
        if not callable(getattr(policy, method, None)):
            raise InvalidInput(
                "policy",
                f"thrifty's, or an object with start, choose and learn ({method} is missing)",
                policy,
            )
    player = copy.deepcopy(policy)
    player.start(sets, noise=noise, horizon=horizon, rng=rng)
    return player


def _play_plainly(
    player: PlainPolicy, sets: ActionSets, truth: Truth, score: Score, luck: Streams, rounds: int
) -> Iterator[int]:
    """Play a plain policy on the luck that compiled ones have; yields after every round."""
    for now in range(1, rounds + 1):
        context = draw_context(truth.law, luck.contexts.random()) if sets.contexts > 1 else 0
        arm, arms = player.choose(context), int(sets.offsets[context + 1] - sets.offsets[context])
        if not isinstance(arm, int | np.integer) or not 0 <= arm < arms:
            raise InvalidInput(f"{name_of(player)}: choose", f"an arm from 0 to {arms - 1}", arm)
        row = int(sets.offsets[context] + arm)
        player.learn(context, int(arm), draw_reward(truth, row, luck.noise))
        score_round(score, 0, truth.gaps[row], now)
        yield 1
