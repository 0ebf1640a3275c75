"""The policy of plain_policy.py, compiled: hundreds of times as fast, and usable online.

Run me: python examples/compiled_policy.py

A compiled policy is four things: its parameters, its state, how it chooses, how it learns. It is
compiled when it is first used, in every process anew: thrifty keeps machine code only for its own
policies, since it would not notice that you have changed yours.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import thrifty as th
from thrifty.extending import (
    Choice,
    Ledger,
    Policy,
    Regression,
    check_policy,
    choose,
    greedy_arm,
    implements,
    learn,
    observe,
    start_ledger,
    start_regression,
    update_arms,
)

EXPLORE, COMMIT = range(2)  # indices into labels


@dataclass(frozen=True, kw_only=True)
class ExploreThenCommit(Policy):
    """Play the arms of each context in turn, `pulls` times each; then the best by least squares."""

    pulls: float = 20

    name: ClassVar[str] = "explore-then-commit"
    labels: ClassVar[tuple[str, ...]] = ("explore", "commit")

    def start(self, sets: th.ActionSets, *, noise: float, horizon: float | None) -> "State":
        """The state before the first round."""
        return State(
            start_ledger(sets),
            start_regression(sets.rows, ridge=1.0, largest_set=sets.largest),
            float(self.pulls),
        )


class State(NamedTuple):
    """Arrays that change in place, and numbers that do not. The ledger is kept for you."""

    ledger: Ledger
    regression: Regression
    pulls: float


@implements(choose, State)
def _choose(state: State, context: int, arms):
    """One of the rows in arms, and the index of its label. Numba compiles this: plain loops."""
    visits = state.ledger.visits[context]
    if visits < state.pulls * arms.size:
        return Choice(arms[(visits + 1) % arms.size], EXPLORE)
    update_arms(state.regression, arms)  # regression.means and .norms of these arms are current
    return Choice(greedy_arm(state.regression, arms), COMMIT)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float):
    observe(state.regression, row, reward)


if __name__ == "__main__":
    check_policy(ExploreThenCommit())  # what every policy must pass
    study = th.run(
        "fixed-u0.1",
        [ExploreThenCommit(), ExploreThenCommit(pulls=100), th.LinTS()],
        horizon=100_000,
        replications=100,
    )
    for row in study.summary():
        print(f"{row['policy']:30} {row['mean']:7.1f} ± {row['se']:.1f}")
    learner = ExploreThenCommit().learner(th.ActionSets([[[1, 0], [0, 1]]]))
    decision = learner.choose(0)
    learner.learn(decision, reward=1.0)
    print(learner.explain(decision))
