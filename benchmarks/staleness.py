"""What a stale posterior costs: regret if rewards are late, or if snapshots are decided by.

Draws docs/figures/staleness.svg.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

import thrifty as th
from thrifty.compiler.compilation import compiled, entry_for, kernel
from thrifty.compiler.references import Reference
from thrifty.lab.arena.relative import Contrast, standard_error
from thrifty.numerics.arrays import Floats, Ints
from thrifty.numerics.streams import Streams, streams
from thrifty.policies.shared.ledger import record_choice
from thrifty.policies.shared.stubs import choose, learn
from thrifty.report.drawing import DASHES, plain_ticks, save_figure
from thrifty.report.wording import plain, with_error
from thrifty.simulation.loop import Truth, draw_context, draw_reward, truth_of

TITLE = "Stale posteriors"
HORIZON, REPLICATIONS, SEED = 100_000, 100, 1
# with alpha=1 or 2 some runs of linucb stay with a worse arm, and their regret hides all else
POLICIES = ("thrifty", "lints", "linucb:width=alpha,alpha=3")
STALENESS = (10, 100, 1000, 10_000)
# by name: colour and dashes in the figure
INSTANCES = {
    "fixed-u0.1": ("#0072B2", DASHES[0]),
    "scenario-one": ("#E69F00", DASHES[0]),
    "small-5": ("#009E73", DASHES[0]),
    "orthogonal": ("#CC79A7", DASHES[1]),
    "drawn:seed=1": ("#B2182B", DASHES[1]),
    "product": ("#1A1A5E", DASHES[1]),
}
LATE, SNAPSHOTS, GROWING = "late", "snapshots", "snapshots, often at first"
SHARE = 10  # a snapshot of this last kind leaves out a tenth at most
WORDS = {
    LATE: "rewards k decisions late",
    SNAPSHOTS: "a snapshot every k decisions",
    GROWING: "every k, at first after a tenth",
}
FIGURE = Path(__file__).parent.parent / "docs" / "figures" / "staleness"


class Waiting(NamedTuple):
    """A ring of k decisions that the policy has not learned from; decision t is at t % k."""

    contexts: Ints  # (k,)
    rows: Ints  # (k,)
    labels: Ints  # (k,)
    rewards: Floats  # (k,)


class Play(NamedTuple):
    """All that the loop needs."""

    state: Any  # of the policy
    truth: Truth
    waiting: Waiting
    streams: Streams


@kernel
def _settle(state: Any, waiting: Waiting, place: int) -> None:
    """Let the policy learn from the decision at a place of the ring."""
    record_choice(state.ledger, waiting.contexts[place], waiting.rows[place])
    learn(state, waiting.rows[place], waiting.labels[place], waiting.rewards[place])


@kernel
def _most_waiting(t: int, k: int, share: int) -> int:
    """How many of t decisions a snapshot may leave out: k, or with a share at most t / share."""
    return k if share == 0 else min(k, max(1, t // share))


@kernel
def _loop(play: Play, horizon: int, together: bool, share: int) -> float:
    """Regret of all rounds. Before round t the policy learns from the decision of round t - k, or,
    together, from all that wait if they are as many as may be.
    """
    state, truth, waiting, streams = play
    ledger, offsets, k = state.ledger, state.ledger.offsets, waiting.rows.size
    regret, learned = 0.0, 0
    for t in range(horizon):
        if t - learned >= (_most_waiting(learned, k, share) if together else k):
            for one in range(learned, t if together else learned + 1):
                _settle(state, waiting, one % k)
                learned += 1
        context = draw_context(truth.law, streams.contexts.random()) if truth.law.size > 1 else 0
        for i in range(ledger.normals.size):
            ledger.normals[i] = streams.normals.standard_normal()
        for i in range(ledger.uniforms.size):
            ledger.uniforms[i] = streams.uniforms.random()
        choice = choose(state, context, truth.rows[offsets[context] : offsets[context + 1]])
        place = t % k
        waiting.contexts[place], waiting.rows[place] = context, choice.row
        waiting.labels[place] = choice.label
        waiting.rewards[place] = draw_reward(truth, choice.row, streams.rewards)
        regret += truth.gaps[choice.row]
    return regret


@compiled
def _play(reference: Any, horizon: int, together: bool, share: int) -> float:
    """Regret of all rounds; holds the arrays whose references the loop does not count."""
    return _loop(reference.target, horizon, together, share)


@compiled
def _set_up(
    state: Any, truth: Truth, waiting: Waiting, contexts: Any, noise: Any, normals: Any, own: Any
) -> Any:
    """A reference to what the loop needs."""
    return Reference(Play(state, truth, waiting, Streams(contexts, noise, normals, own)))


def regrets(name: str, spec: str, k: int, kind: str) -> Floats:
    """(R,) regret of each replication with posteriors that are k decisions old."""
    instance = th.instance(name)
    truth, found = truth_of(instance), []
    for replication in range(REPLICATIONS):
        state = th.policy(spec).start(instance.sets, noise=truth.told, horizon=HORIZON)
        waiting = Waiting(*(np.zeros(k, one) for one in (np.int64, np.int64, np.int64, float)))
        own = streams(SEED, replication)
        reference = entry_for(_set_up, state)(state, truth, waiting, *own)
        how = (kind != LATE, SHARE if kind == GROWING else 0)
        found.append(entry_for(_play, state)(reference, HORIZON, *how))
    return np.array(found)


def _relative(mine: Sequence[Floats], fresh: Sequence[Floats]) -> Contrast:
    """Mean regrets (R,) on some instances relative to those of the same replications when fresh."""
    pairs = [(own, own.mean(), base, base.mean()) for own, base in zip(mine, fresh, strict=True)]
    return Contrast(
        np.array([math.log(own_mean / mean) for _, own_mean, _, mean in pairs]),
        np.array([own / own_mean - base / mean for own, own_mean, base, mean in pairs]),
    )


Found = Mapping[tuple[str, str], Sequence[Contrast]]  # by kind and policy, one per k


def measure() -> str:
    """Regret with fresh posteriors on each instance, and with stale ones relative to it."""
    fresh = {policy: [regrets(name, policy, 1, LATE) for name in INSTANCES] for policy in POLICIES}
    found = {
        (kind, policy): [
            _relative([regrets(name, policy, k, kind) for name in INSTANCES], fresh[policy])
            for k in STALENESS
        ]
        for kind in WORDS
        for policy in POLICIES
    }
    draw(found)
    bare = [_row(f"`{policy}`", own, _fresh_cell) for policy, own in fresh.items()]
    stale = [_row(f"{kind} | `{policy}`", own, _cell) for (kind, policy), own in found.items()]
    return "\n".join(
        [
            *_head("posterior | policy", [f"{k:,}" for k in STALENESS]),
            *stale,
            "",
            _explained(),
            "",
            *_head("policy", INSTANCES),
            *bare,
            "",
            f"Mean regret after {HORIZON:,} rounds if each reward is learned before the next "
            "decision.",
        ]
    )


def _head(left: str, right: Iterable[str]) -> list[str]:
    columns = list(right)
    line = "---|" * (1 + left.count("|")) + "---:|" * len(columns)
    return [f"| {left} | {' | '.join(columns)} |", f"|{line}"]


def _row(left: str, found: Iterable[Any], cell: Callable[[Any], str]) -> str:
    return f"| {left} | {' | '.join(map(cell, found))} |"


def _fresh_cell(regret: Floats) -> str:
    return with_error(float(regret.mean()), standard_error(regret))


def _cell(one: Contrast) -> str:
    worst = plain(math.exp(one.logs.max()), 3)
    return f"{with_error(one.ratio, one.ratio * one.error)} ({worst})"


def _explained() -> str:
    return (
        f"Mean regret after {HORIZON:,} rounds relative to that with rewards learned before the "
        "next decision: geometric mean over instances with its standard error over replications, "
        f"and in brackets the worst instance. `{LATE}`: rewards are learned k decisions later. "
        f"`{SNAPSHOTS}`: the policy decides by a state that is renewed every k decisions; "
        f"`{GROWING}`: or earlier, when the decisions since are 1 / {SHARE} of those in it. "
        f"{REPLICATIONS} replications, the same contexts and noise for all. `linucb` has alpha=3, "
        "chosen after a look at 1 and 2, with which some runs stay with a worse arm: their regret "
        "hides what staleness costs."
    )


def draw(found: Found) -> None:
    """One panel per policy and kind, one line per instance: relative regret."""
    figure = Figure(figsize=(10.4, 9.2), layout="constrained")
    panels = figure.subplots(len(WORDS), len(POLICIES), sharex=True, sharey=True)
    for row, (kind, words) in zip(panels, WORDS.items(), strict=True):
        row[0].set_ylabel("regret relative to fresh posteriors")
        for axes, policy in zip(row, POLICIES, strict=True):
            own = found[kind, policy]
            for i, (name, (colour, dashes)) in enumerate(INSTANCES.items()):
                axes.errorbar(
                    STALENESS,
                    [math.exp(one.logs[i]) for one in own],
                    yerr=[math.exp(one.logs[i]) * standard_error(one.influence[i]) for one in own],
                    color=colour,
                    linestyle=dashes,
                    marker="o",
                    markersize=4,
                    linewidth=1.2,
                    label=name,
                )
            axes.axhspan(0.9, 1.1, color="#88888833", linewidth=0)
            axes.axhline(1, color="black", linewidth=0.8)
            axes.set(xscale="log", yscale="log")
            axes.set_title(f"{policy}\n{words}", fontsize="medium")
            axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[-1]:
        axes.set_xlabel("k")
        plain_ticks(axes.xaxis)
    plain_ticks(panels[0, 0].yaxis)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    save_figure(figure, FIGURE, ("svg",))
