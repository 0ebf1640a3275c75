"""The compiled loop of one replication, for every policy.

In each round a context is drawn, the policy chooses, a reward is drawn, the policy learns, and its
regret is recorded. One draw of the stream of rewards is used per round, whatever arm is played.

The compiled loop knows one theta. Where theta changes it ends, and is called again with other means
and gaps in the same arrays.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from thrifty.compiler.compilation import compiled, entry_for, kernel
from thrifty.compiler.records import Record, Records
from thrifty.compiler.references import Reference
from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import Floats, Ints, positive_number
from thrifty.numerics.streams import Streams
from thrifty.policies.shared.ledger import record_choice
from thrifty.policies.shared.stubs import choose, expect, learn
from thrifty.problem.instances import Instance
from thrifty.problem.specs import parsed, split_parameters

REWARDS = ("gaussian", "bernoulli", "student")
GAUSSIAN, BERNOULLI, STUDENT = range(3)
SUBGAUSSIAN = 0.5  # any reward in [0, 1] is 1/2-subgaussian


class Truth(NamedTuple):
    """What the simulator knows and the policy does not."""

    law: Floats  # (M,) cumulated probabilities of the contexts
    rows: Ints  # (k,) 0, 1, 2, ...
    means: Floats  # (k,) mean rewards under the present theta
    gaps: Floats  # (k,) suboptimality gaps under the present theta
    noise: float
    told: float  # the noise that the policy is told
    rewards: int  # GAUSSIAN, BERNOULLI or STUDENT


class Next(Record):
    """The next checkpoint."""

    checkpoint: int  # index into times


class Score(NamedTuple):
    """Rounds and pseudo-regret (free of noise) by label, for L labels."""

    times: Ints  # (c,) checkpoints: rounds after which the score is kept, increasing
    next: Records  # (1,) of Next
    rounds: Ints  # (L,) so far
    regret: Floats  # (L,) so far
    rounds_at: Ints  # (c, L) at each checkpoint
    regret_at: Floats  # (c, L) at each checkpoint
    pulls_at: Ints  # (c, k) choices of each row at each checkpoint; (c, 0) if not kept


class Game(NamedTuple):
    """All that the loop needs."""

    state: Any  # of the policy
    truth: Truth
    score: Score
    streams: Streams


def start_score(times: Ints, labels: int, rows: int = 0) -> Score:
    """A score before the first round; rows: as many as there are, or 0 to keep no pulls."""
    c = len(times)
    return Score(
        times=times,
        next=Next.new(),
        rounds=np.zeros(labels, np.int64),
        regret=np.zeros(labels),
        rounds_at=np.zeros((c, labels), np.int64),
        regret_at=np.zeros((c, labels)),
        pulls_at=np.zeros((c, rows), np.int64),
    )


def truth_of(instance: Instance, rewards: str = "gaussian") -> Truth:
    """The instance before its first change, as the loop reads it.

    rewards: `gaussian`, `bernoulli`, `student`; with `:told=2` policies are told twice the noise.
    """
    name, _, pairs = rewards.partition(":") if isinstance(rewards, str) else ("", "", "")
    if name not in REWARDS:
        raise InvalidInput.expected("rewards", " or ".join(REWARDS), rewards)
    parameters = split_parameters(pairs, ("told",), owner=name, where="rewards: ")
    told = parsed(parameters.get("told", "1"), float, "rewards: told")
    factor = positive_number(told, "rewards: told")
    kind = REWARDS.index(name)
    if kind == BERNOULLI:
        _check_bernoulli(instance)
    law = instance.probabilities.cumsum()
    law[-1] = 1.0
    told = factor * (SUBGAUSSIAN if kind == BERNOULLI else instance.noise)
    means, gaps = instance.means.copy(), instance.gaps.copy()
    return Truth(law, np.arange(len(means)), means, gaps, instance.noise, told, kind)


def _check_bernoulli(instance: Instance) -> None:
    """Raise InvalidInput unless all means are probabilities, before and after each change."""
    for piece in instance.pieces:
        worst = float(piece.means[np.abs(piece.means - 0.5).argmax()])
        if not 0 <= worst <= 1:
            needed = f"bernoulli rewards need means between 0 and 1; {instance.name} has {worst:g}"
            raise InvalidInput("rewards", needed)


def cut_rounds(instance: Instance, truth: Truth, rounds: int) -> Iterator[range]:
    """Numbers of rounds, from 0, cut where theta changes; truth is moved on between two of them."""
    start = 0
    for change, piece in zip(instance.changes, instance.pieces[1:], strict=True):
        if change.round >= rounds:
            break
        yield range(start, change.round)
        truth.means[:], truth.gaps[:] = piece.means, piece.gaps
        start = change.round
    yield range(start, rounds)


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
def draw_reward(truth: Truth, row: int, stream: np.random.Generator) -> float:
    """The reward of a row: one draw of the stream, whatever the row."""
    if truth.rewards == BERNOULLI:
        return 1.0 if stream.random() < truth.means[row] else 0.0
    if truth.rewards == STUDENT:
        return truth.means[row] + truth.noise * student_quantile(stream.random())
    return truth.means[row] + truth.noise * stream.standard_normal()


@kernel
def student_quantile(uniform: float) -> float:
    """Quantile of Student's t with four degrees of freedom, divided by its deviation, sqrt 2.

    The quantile is +-2 sqrt(q - 1) with q = cos(arccos(sqrt a) / 3) / sqrt a, a = 4 u (1 - u).
    """
    u = min(max(uniform, 2.0**-54), 1.0 - 2.0**-53)
    root = math.sqrt(4.0 * u * (1.0 - u))
    q = math.cos(math.acos(min(1.0, root)) / 3.0) / root
    size = math.sqrt(2.0 * max(0.0, q - 1.0))
    return size if u > 0.5 else -size


@kernel
def score_round(score: Score, label: int, gap: float, t: int, chosen: Ints) -> None:
    """Count round t and its regret; if t is a checkpoint, keep the score and chosen (k,)."""
    score.rounds[label] += 1
    score.regret[label] += gap
    checkpoint = score.next[0].checkpoint
    if t == score.times[checkpoint]:
        for l in range(score.rounds.size):
            score.rounds_at[checkpoint, l] = score.rounds[l]
            score.regret_at[checkpoint, l] = score.regret[l]
        for row in range(score.pulls_at.shape[1]):
            score.pulls_at[checkpoint, row] = chosen[row]
        score.next[0].checkpoint = min(checkpoint + 1, score.times.size - 1)


@kernel
def _loop(game: Game, stop: int) -> None:
    """Play until round stop."""
    state, truth, score, streams = game.state, game.truth, game.score, game.streams
    ledger, offsets = state.ledger, state.ledger.offsets
    normals, uniforms, counters = ledger.normals, ledger.uniforms, ledger.counters
    contexts, rewards = streams.contexts, streams.rewards
    normal_stream, uniform_stream = streams.normals, streams.uniforms
    while counters[0].rounds < stop:
        context = draw_context(truth.law, contexts.random()) if truth.law.size > 1 else 0
        for i in range(normals.size):
            normals[i] = normal_stream.standard_normal()
        for i in range(uniforms.size):
            uniforms[i] = uniform_stream.random()
        choice = choose(state, context, truth.rows[offsets[context] : offsets[context + 1]])
        record_choice(ledger, context, choice.row)
        expect(state, choice.row)
        learn(state, choice.row, choice.label, draw_reward(truth, choice.row, rewards))
        gap = truth.gaps[choice.row]
        score_round(score, choice.label, gap, counters[0].rounds, ledger.chosen)


@compiled
def _play(reference: Any, stop: int) -> None:
    """Play until round stop; holds the arrays whose references the loop does not count."""
    _loop(reference.target, stop)


@compiled
def _set_up(
    state: Any, truth: Truth, score: Score, contexts: Any, rewards: Any, normals: Any, uniforms: Any
) -> Any:
    """A reference to the game.

    Generators come one by one: inside a tuple they would make Numba look at the type of every array
    again, for a millisecond.
    """
    game = Game(state, truth, score, Streams(contexts, rewards, normals, uniforms))
    return Reference(game)  # type: ignore[no-untyped-call]  # Numba makes its constructor


def play_blocks(game: Game, stretches: Iterable[range], block: int) -> Iterator[int]:
    """Play stretches of rounds, one after the other; yields after each block the rounds since.

    stretches: of `cut_rounds`. Short ones are played together, before anything is yielded.
    """
    play = entry_for(_play, game.state)
    set_up = entry_for(_set_up, game.state)
    reference = set_up(game.state, game.truth, game.score, *game.streams)
    played = 0
    for stretch in stretches:
        for start in range(stretch.start, stretch.stop, block):
            stop = min(start + block, stretch.stop)
            play(reference, stop)
            played += stop - start
            if played >= block:
                yield played
                played = 0
    if played:
        yield played
