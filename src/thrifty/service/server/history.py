"""What happened over time, in a bounded number of stretches of equally many decisions."""

from dataclasses import dataclass, field
from typing import Any

MOST = 120  # stretches; with more, two neighbours become one


@dataclass
class Stretch:
    """Consecutive decisions, and the rewards that came meanwhile."""

    start: int  # time of the first decision, microseconds
    decisions: int = 0
    explored: int = 0
    cost: float = 0.0  # sum of the estimated gaps
    rewards: int = 0
    reward_sum: float = 0.0

    def add(self, later: "Stretch") -> None:
        for name in ("decisions", "explored", "cost", "rewards", "reward_sum"):
            setattr(self, name, getattr(self, name) + getattr(later, name))


@dataclass
class History:
    """Stretches of `size` decisions, the last one in progress."""

    size: int = 1
    stretches: list[Stretch] = field(default_factory=list)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "History":
        return cls(content["size"], [Stretch(**stretch) for stretch in content["stretches"]])

    def count_decision(self, at: int, gap: float, explores: bool) -> None:
        """Add a decision; it explores if its arm is not the greedy one."""
        if not self.stretches or self.stretches[-1].decisions == self.size:
            if len(self.stretches) == MOST:
                self._halve()
            self.stretches.append(Stretch(at))
        last = self.stretches[-1]
        last.decisions += 1
        last.explored += explores
        last.cost += gap

    def count_reward(self, reward: float) -> None:
        """Add a reward, to the stretch in progress."""
        if self.stretches:
            self.stretches[-1].rewards += 1
            self.stretches[-1].reward_sum += reward

    def _halve(self) -> None:
        """Make one stretch of two."""
        for first, second in zip(self.stretches[::2], self.stretches[1::2], strict=True):
            first.add(second)
        self.stretches, self.size = self.stretches[::2], 2 * self.size

    def recent_cost(self, share: float) -> float:
        """The cost of the last share of all decisions, in whole stretches."""
        wanted = share * sum(stretch.decisions for stretch in self.stretches)
        cost, seen = 0.0, 0
        for stretch in reversed(self.stretches):
            if seen >= wanted:
                break
            cost, seen = cost + stretch.cost, seen + stretch.decisions
        return cost
