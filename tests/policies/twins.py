"""Slow, obvious twins of the policies in plain NumPy: sums are kept, everything else is computed
from them in every round.

They are plain policies, so that the simulator plays them on the contexts and noise of the compiled
ones. Of thrifty they use the allocation program alone, which has oracles of its own.
"""

import math
from itertools import combinations

import numpy as np

import thrifty as th
from thrifty.simulation.replication import streams

SEED = 3


class Twin:
    """Bookkeeping: all arms, what was played, what came."""

    ridge = None  # noise^2

    def start(self, sets, *, noise, horizon, rng):
        self.sets, self.X, self.noise, self.n, self.d = (
            sets,
            sets.rows,
            noise,
            horizon,
            sets.dimension,
        )
        self.ridge = noise**2 if self.ridge is None else self.ridge
        self.V = self.ridge * np.eye(self.d)
        self.b = np.zeros(self.d)
        self.pulls = np.zeros(len(self.X), dtype=int)
        self.sums = np.zeros(len(self.X))
        self.uniforms, self.normals = rng, streams(SEED, 0).normals
        self.labels: list[str] = []
        self.arms: list[int] = []
        self.t = 0

    def choose(self, context):
        self.t += 1
        self.context = context
        self.offered = np.arange(*self.sets.offsets[context : context + 2])
        row, label = self.decide()
        self.labels.append(label)
        self.arms.append(int(row - self.offered[0]))
        return self.arms[-1]

    def learn(self, context, arm, reward):
        row = int(self.sets.offsets[context]) + arm
        self.V += np.outer(self.X[row], self.X[row])
        self.b += self.X[row] * reward
        self.pulls[row] += 1
        self.sums[row] += reward

    def theta(self):
        return np.linalg.pinv(self.V, rcond=1e-12, hermitian=True) @ self.b

    def norms(self):
        inverse = np.linalg.inv(self.V)
        return np.array([x @ inverse @ x for x in self.X])

    def means(self):
        theta = self.theta()
        return np.array([x @ theta for x in self.X])

    def pooled(self, per_row):
        """(k,) the sum over all rows with the same vector."""
        return np.bincount(self.sets.vector_ids, weights=per_row)[self.sets.vector_ids]

    def N(self):  # noqa: N802
        return self.pooled(self.pulls)

    def argmax(self, values):
        """The first offered row whose value is largest."""
        return self.offered[int(np.argmax(np.asarray(values)[self.offered]))]

    def gaps(self, means):
        gaps = np.concatenate([block.max() - block for block in self.sets.split(means)])
        return np.where(gaps <= 1e-12 * np.abs(means).max(), 0.0, gaps)

    def f(self, delta, c):
        return max(
            0.0,
            2 * (1 + 1 / math.log(self.n)) * math.log(1 / delta)
            + c * self.d * math.log(self.d * math.log(self.n)),
        )

    def fill_span(self):
        """A row outside the span of those played, the greedy one if none is offered, None if
        everything is spanned.
        """
        played = self.X[self.pulls > 0]
        rank = np.linalg.matrix_rank(played) if len(played) else 0
        if rank == np.linalg.matrix_rank(self.X):
            return None
        outside = [
            row
            for row in self.offered
            if np.linalg.matrix_rank(np.vstack([played, self.X[row]])) > rank
        ]
        return outside[0] if outside else self.argmax(self.means())


class GreedyTwin(Twin):
    def decide(self):
        return self.argmax(self.means()), "exploit"


class EGreedyTwin(Twin):
    def decide(self):
        whether, which = self.uniforms.random(2)
        if whether < self.t**-0.5:
            return self.offered[int(which * len(self.offered))], "forced"
        return self.argmax(self.means()), "exploit"


class LinUCBTwin(Twin):
    def __init__(self, ridge=None, size=1, anytime=False):
        self.ridge, self.size, self.anytime = ridge, size, anytime

    def decide(self):
        logdet = np.linalg.slogdet(self.V / self.ridge)[1]
        certainty = 3 * math.log(self.t) if self.anytime else math.log(self.n)
        width = self.noise * math.sqrt(2 * certainty + logdet)
        width += math.sqrt(self.ridge) * self.size
        return self.argmax(self.means() + width * np.sqrt(self.norms())), "optimistic"


class LinUCBfnTwin(Twin):
    def decide(self):
        return self.argmax(
            self.means() + self.noise * math.sqrt(self.f(1 / self.n, 1)) * np.sqrt(self.norms())
        ), "optimistic"


class LinUCBalphaTwin(Twin):
    def decide(self):
        return self.argmax(self.means() + 0.5 * self.noise * np.sqrt(self.norms())), "optimistic"


class LinTSTwin(Twin):
    def __init__(self, scale=1.0):
        self.scale = scale

    def spread(self):
        return self.noise * self.scale

    def decide(self):
        root = np.linalg.cholesky(np.linalg.inv(self.V))
        sample = self.theta() + self.spread() * root @ self.normals.standard_normal(self.d)
        return self.argmax(self.X @ sample), "sampled"


class LinTSTheoryTwin(LinTSTwin):
    def start(self, *args, **kwargs):
        super().start(*args, **kwargs)
        self.V = np.eye(self.d)

    def spread(self):
        return self.noise * math.sqrt(9 * self.d * math.log(self.n * self.n))


class Planner(Twin):
    ridge = 0.0

    def start(self, *args, **kwargs):
        super().start(*args, **kwargs)
        self.last, self.solution, self.s = None, None, 0

    def solve(self, gaps):
        self.solution = th.allocate(self.X, gaps, gaps == 0, noise=self.noise, warm=self.solution)
        return self.solution.pulls

    def lazily(self, gaps):
        """The allocation, solved again when det G has grown by a tenth."""
        logdet = np.linalg.slogdet(self.V)[1]
        if self.last is None or logdet >= self.last + math.log(1.1):
            self.alpha, self.last = self.solve(gaps), logdet
        return self.alpha


class OAMTwin(Planner):
    def __init__(self, epsilon=0.0, c=0.0):
        self.epsilon, self.c = epsilon, c

    def decide(self):
        row = self.fill_span()
        if row is not None:
            return row, "init"
        means, norms, N = self.means(), self.norms(), self.N()
        gaps = self.gaps(means)
        least = gaps[gaps > 0].min() if (gaps > 0).any() else np.inf
        f_n = self.f(1 / self.n, self.c)
        if all(
            norms[row] <= max(least, gaps[row]) ** 2 / (f_n * self.noise**2) for row in self.offered
        ):
            return self.argmax(means), "exploit"
        targets = np.minimum(self.lazily(gaps) * f_n / 2, f_n * self.noise**2 / least**2)
        s, self.s = self.s, self.s + 1
        if all(N[row] >= targets[row] for row in self.offered):
            width = self.noise * math.sqrt(self.f(1 / self.s**2, self.c))
            return self.argmax(means + width * np.sqrt(norms)), "wasted"
        ratios = {row: N[row] / targets[row] for row in self.offered if targets[row] > 0}
        b1 = self.offered[0]
        for row, ratio in ratios.items():  # ties within the tolerance of the solver go to the first
            if row == min(ratios) or ratio < ratios[b1] * (1 - 1e-5):
                b1 = row
        b2 = min(self.offered, key=lambda row: N[row])
        epsilon = (
            1 / math.log(math.log(max(16, self.t))) if self.epsilon == "literal" else self.epsilon
        )
        return (b2, "forced") if N[b2] <= epsilon * s else (b1, "matched")


class OSSBTwin(Planner):
    def means(self):
        """(k,) the empirical mean of each row's vector; 0 without a reward."""
        return self.pooled(self.sums) / np.maximum(1, self.N())

    def decide(self):
        N, means = self.N(), self.means()
        if (N == 0).any():
            unplayed = [row for row in self.offered if N[row] == 0]
            return (unplayed[0] if unplayed else self.argmax(means)), "init"
        if self.last is None or any(
            N[row] > before and N[row] >= 1.1 * before for row, before in enumerate(self.last)
        ):
            self.alpha, self.last = self.solve(self.gaps(means)), N
        wanting = [row for row in self.offered if 0 < self.alpha[row] < np.inf]
        if all(N[row] >= self.alpha[row] * math.log(self.t) for row in wanting):
            return self.argmax(means), "exploit"
        return min(wanting, key=lambda row: N[row] / self.alpha[row]), "matched"


class EndOATwin(Planner):
    def start(self, *args, **kwargs):
        super().start(*args, **kwargs)
        self.plan, self.recovering = None, None
        # the subset of largest volume, by trying all
        subsets = combinations(range(len(self.X)), np.linalg.matrix_rank(self.X))
        self.spanner = max(
            subsets, key=lambda rows: np.linalg.det(self.X[list(rows)] @ self.X[list(rows)].T)
        )

    def learn(self, context, arm, reward):
        if self.recovering is None:
            super().learn(context, arm, reward)
        else:
            self.recovering[arm].append(reward)

    def decide(self):
        if any(self.pulls[row] < math.ceil(math.sqrt(math.log(self.n))) for row in self.spanner):
            return min(self.spanner, key=lambda row: self.pulls[row]), "init"
        means = self.means()
        if self.plan is None:
            self.e = self.noise * math.sqrt(self.norms().max() * self.f(1 / math.log(self.n), 1))
            self.warm_means, self.plan = means, self.solve(self.gaps(means))
        if self.recovering is None and np.abs(means - self.warm_means).max() > 2 * self.e:
            self.recovering = [[] for _ in self.X]
        if self.recovering is not None:
            return self.upper_confidence(), "recovery"
        N = self.N()
        for row in self.offered:
            if N[row] < self.plan[row] * self.f(1 / self.n, 1) / 2 < np.inf:
                return row, "matched"
        return self.argmax(means), "exploit"

    def upper_confidence(self):
        bonus = self.noise * math.sqrt(2 * math.log(self.n))
        uppers = [
            np.mean(rewards) + bonus / math.sqrt(len(rewards)) if rewards else np.inf
            for rewards in self.recovering
        ]
        return int(np.argmax(uppers))


class DELTwin(Planner):
    def decide(self):
        row = self.fill_span()
        if row is not None:
            return row, "init"
        means, norms = self.means(), self.norms()
        pulls = self.pulls
        visits = pulls[self.offered].sum()
        enough = [
            row for row in self.offered if pulls[row] >= math.log(1 + visits) ** 2
        ] or self.offered
        leader = max(enough, key=lambda row: means[row])
        if pulls[leader] < math.log(2 + visits) ** 2:
            return leader, "monotone"
        least = min(self.offered, key=lambda row: pulls[row])
        if pulls[least] < math.log(1 + visits) / (1 + math.log(1 + math.log(1 + visits))):
            return least, "forced"
        gaps = self.gaps(means)
        gaps[gaps < 1 / (1 + math.log(math.log(max(math.e, self.t))))] = 0
        wanted = 1 + math.log(self.t)
        if all(
            gap == 0 or wanted * norm <= gap**2 / (2 * self.noise**2)
            for gap, norm in zip(gaps, norms, strict=True)
        ):
            return self.argmax(means), "exploit"
        targets = self.lazily(gaps) * wanted
        behind = [row for row in self.offered if pulls[row] < targets[row] < np.inf]
        return (
            (min(behind, key=lambda row: pulls[row]), "matched")
            if behind
            else (self.argmax(means), "wasted")
        )
