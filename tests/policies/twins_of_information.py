"""Slow twins of the policies that weigh what the data say against alternatives: ids, solid,
thrifty.
"""

import math
from itertools import pairwise

import numpy as np
from scipy.stats import norm

from tests.policies.twins import Twin
from thrifty.allocation.differences import allocate_differences


def least_ratio(offered, greedy, gaps, info):
    """The arm and the probability of the least ratio, by trying all arms, and the ends and the
    stationary point of each.
    """
    trials = []
    for j in offered:
        D1, D2, I1, I2 = gaps[greedy], gaps[j], info[greedy], info[j]
        chances = [0.0]
        if I2 > I1:
            chances += [
                1.0,
                float(np.clip(D1 / (D2 - D1) - 2 * I1 / (I2 - I1), 0, 1)) if D2 != D1 else 1.0,
            ]
        for p in chances:
            mixed = (1 - p) * I1 + p * I2
            trials.append((((1 - p) * D1 + p * D2) ** 2 / mixed if mixed > 0 else np.inf, j, p))
    _, j, p = min(trials, key=lambda trial: trial[0])
    return j, p


class IDSTwin(Twin):
    def __init__(self, correction="ucb", ridge=None):
        self.correction, self.ridge = correction, ridge

    def start(self, *args, **kwargs):
        super().start(*args, **kwargs)
        self.s, self.eta = 0, 1.0

    def learn(self, context, arm, reward):
        if self.labels[-1] != "exploit":
            super().learn(context, arm, reward)

    def beta(self, rounds):
        inverse_delta = max(2, rounds) * math.log(max(2, rounds))
        radicand = np.linalg.slogdet(self.V / self.ridge)[1] + 2 * math.log(inverse_delta)
        return (self.noise * math.sqrt(radicand) + math.sqrt(self.ridge)) ** 2

    def alternatives(self, means, theta, inverse):
        """Of every arm of every context that is not the greedy vector: r_z, and the nearest
        parameter that makes it as good.
        """
        for first, stop in pairwise(self.sets.offsets):
            best = self.X[first + int(np.argmax(means[first:stop]))]
            for z in self.X[first:stop]:
                if (z != best).any():
                    spread = (best - z) @ inverse @ (best - z)
                    yield (
                        ((best - z) @ theta) ** 2 / spread,
                        theta - ((best - z) @ theta) / spread * inverse @ (best - z),
                    )

    def decide(self):
        uniform, means, theta, inverse = (
            self.uniforms.random(),
            self.means(),
            self.theta(),
            np.linalg.inv(self.V),
        )
        greedy = self.argmax(means)
        found = list(self.alternatives(means, theta, inverse))
        least = min([r for r, _ in found], default=np.inf)
        if least >= self.beta(self.t):
            return greedy, "exploit"
        self.s += 1
        self.eta = max(self.eta, math.sqrt(least))
        width = math.sqrt(self.beta(self.s))
        gaps = {
            x: max(self.regret(self.X[y] - self.X[x], theta, inverse, width) for y in self.offered)
            for x in self.offered
        }
        uppers = means + width * np.sqrt(self.norms())
        widened = [self.argmax(uppers)] if self.correction == "ucb" else self.offered
        optimism = {x: uppers[x] - means[x] if x in widened else 0.0 for x in self.offered}
        q = np.array([math.exp((least - r) / self.eta) for r, _ in found])
        info = {
            x: sum(
                w / q.sum() * (abs((nu - theta) @ self.X[x]) + optimism[x]) ** 2 / 2
                for w, (_, nu) in zip(q, found, strict=True)
            )
            for x in self.offered
        }
        best, p = least_ratio(self.offered, greedy, gaps, info)
        row = best if uniform < p else greedy
        return row, "greedy" if row == greedy else "informative"

    def regret(self, difference, theta, inverse, width):
        return difference @ theta + width * math.sqrt(difference @ inverse @ difference)


class ThriftyTwin(Twin):
    def __init__(self, estimate=False, pace=15.0, urgency=1.5, wait=0.3, shrinking=True, prior=2.0):
        self.estimate, self.pace, self.urgency, self.wait, self.shrinking, self.prior = (
            estimate,
            pace,
            urgency,
            wait,
            shrinking,
            prior,
        )

    def start(self, *args, **kwargs):
        self.ridge = 0.1 if self.estimate else kwargs["noise"] ** 2
        super().start(*args, **kwargs)
        self.best, self.left, self.prices, self.due = (
            {},
            np.zeros(len(self.X)),
            np.zeros(len(self.X)),
            None,
        )
        self.visits, self.seen, self.scale = (
            np.zeros(self.sets.contexts),
            [],
            0.0 if self.estimate else 1.0,
        )

    def learn(self, context, arm, reward):
        super().learn(context, arm, reward)
        self.seen.append((int(self.sets.offsets[context]) + arm, reward))

    def decide(self):
        means, logdet = self.means(), np.linalg.slogdet(self.V)[1]
        greedy = self.argmax(means)
        if (
            self.due is None
            or self.best[self.context] != greedy
            or logdet >= self.due[0]
            or self.t >= self.due[1]
        ):
            sigma = self.sigma()
            if self.settle_prior(sigma):
                means, logdet = self.means(), np.linalg.slogdet(self.V)[1]
                greedy = self.argmax(means)
            self.plan(means, sigma)
            self.due = logdet + math.log(1.1) * max(1, self.d / 4), 1.1 * self.t
        self.visits[self.context] += 1
        row = self.explore(means, greedy)
        self.left[row] = max(0.0, self.left[row] - (row != greedy))
        return row, "exploit" if row == greedy else "explore"

    def explore(self, means, greedy):
        """The arm of the least information ratio, with its probability; else an arm with a
        probability in proportion to its planned pulls; else the greedy arm.
        """
        uniform, lost = (
            self.uniforms.random(),
            self.urgency * max(self.losses[row] for row in self.offered),
        )
        information = {row: self.X[row] @ self.directions @ self.X[row] for row in self.offered}
        gaps = {row: lost + means[greedy] - means[row] for row in self.offered}
        row, probability = (
            least_ratio(self.offered, greedy, gaps, information) if lost > 0 else (greedy, 0.0)
        )
        if uniform < probability:
            return row
        planned = np.array(
            [
                0.0 if row == greedy else max(self.left[row], min(1, 100 * self.left[row]))
                for row in self.offered
            ]
        )
        bounds = np.cumsum([self.pace * self.visits[self.context] ** 0.75, *planned])
        return [greedy, *self.offered][
            int(
                np.searchsorted(
                    bounds, (uniform - probability) / (1 - probability) * bounds[-1], side="right"
                )
            )
        ]

    def settle_prior(self, sigma):
        """The prior whose |theta|^2 is that of theta_hat in the dimensions that the data determine,
        and that of the first prior in a few more, if that is longer.
        """
        theta, determined = self.theta(), self.d - self.ridge * np.trace(np.linalg.inv(self.V))
        if not any(reward for _, reward in self.seen):
            return False
        if self.estimate:
            self.scale = max(self.scale, sigma**2 / 0.1)
        ridge = sigma**2 / max(
            self.scale, (self.prior * self.scale + theta @ theta) / (self.prior + determined)
        )
        moved = abs(ridge / self.ridge - 1) >= 0.1
        if moved:
            self.V += (ridge - self.ridge) * np.eye(self.d)
            self.ridge = ridge
        return moved

    def sigma(self):
        """Known, or the residuals of ridge regression and what the ridge costs, shared among the
        rewards.
        """
        if not self.estimate:
            return self.noise
        theta = self.theta()
        square = (
            sum((reward - self.X[row] @ theta) ** 2 for row, reward in self.seen)
            + self.ridge * theta @ theta
        )
        return math.sqrt(square / len(self.seen)) if square > 0 else 1.0

    def plan(self, means, sigma):
        """The pulls that remain: the program on differences, at the level 2 log(1 + N(m) ||x -
        x^||^2 / 10).
        """
        inverse, visits = np.linalg.inv(self.V), self.visits + 1
        k, M = len(self.X), self.sets.contexts
        rivals, costs, scales, self.losses, self.directions = (
            np.zeros(k, dtype=int),
            np.zeros(k),
            np.zeros(k),
            np.zeros(k),
            np.zeros((self.d, self.d)),
        )
        for m, (first, stop) in enumerate(pairwise(self.sets.offsets)):
            best = self.best[m] = first + int(np.argmax(means[first:stop]))
            for row in range(first, stop):
                gap, difference = means[best] - means[row], self.X[best] - self.X[row]
                spread = max(0.0, difference @ inverse @ difference)
                error = sigma * math.sqrt(spread)
                rivals[row], costs[row] = best, max(gap, 0.5 * error)
                if spread > 0 and row != best:
                    level = (
                        math.log1p(visits[m] * spread / 10)
                        if self.shrinking
                        else math.log1p(self.t)
                    )
                    scales[row] = sigma * math.sqrt(2 * level) / costs[row]
                    # if Z > z in theta - moved Z, the row is better
                    z, moved = gap / error, inverse @ difference / math.sqrt(spread)
                    self.losses[row] = error * (norm.pdf(z) - z * norm.sf(z))
                    self.directions += (
                        visits[m]
                        * math.exp(2 * norm.logpdf(z) - norm.logsf(z))
                        * np.outer(moved, moved)
                    )
        self.gaps = costs
        widest, lost = (
            costs.max(),
            np.array([losses.max() for losses in self.sets.split(self.losses)]) @ visits / self.t,
        )
        waits = self.wait * lost * self.t / visits / math.sqrt(M)
        self.costs = np.maximum(costs + np.repeat(waits, np.diff(self.sets.offsets)), 1e-3 * widest)
        for m, best in self.best.items():
            self.costs[best] = max(waits[m], 1e-6 * widest)
        if widest > 0:
            allocate_differences(
                self.X,
                self.costs,
                rivals,
                scales,
                self.V.copy(),
                self.left,
                self.prices,
                self.due is not None,
                1e-6,
            )


class SOLIDTwin(Twin):
    def __init__(
        self,
        kappa=1.0,
        z=10.0,
        weight_step=0.5,
        price_step=0.1,
        decay=0.0,
        reset=True,
        level=1.0,
        ridge=None,
    ):
        self.kappa, self.z, self.decay, self.reset, self.level = kappa, z, decay, reset, level
        self.weight_step, self.price_step, self.ridge = weight_step, price_step, ridge

    def start(self, *args, **kwargs):
        super().start(*args, **kwargs)
        self.seen, self.S, self.k, self.spent = np.zeros(self.sets.contexts), 0, 0, 0
        self.start_anew()

    def start_anew(self):
        self.w, self.price = (
            [np.full(len(arms), 1 / len(arms)) for arms in self.sets.split(self.X)],
            0.0,
        )

    def learn(self, context, arm, reward):
        if self.labels[-1] != "exploit":
            super().learn(context, arm, reward / self.noise)

    def v(self, W):
        """The least D^2 / ||u||^2 over all contexts and arms, and theta' there."""
        theta = self.theta()
        candidates = []
        for arms in self.sets.split(self.X):
            star = arms[np.argmax(arms @ theta)]
            for arm in arms[(arms != star).any(axis=1)]:
                direction = np.linalg.solve(W, star - arm)
                norm, gap = (star - arm) @ direction, (star - arm) @ theta
                candidates.append((gap**2 / norm, theta - gap / norm * direction))
        return min(candidates, key=lambda candidate: candidate[0], default=(np.inf, theta))

    def decide(self):
        self.seen[self.context] += 1
        uniform, greedy = self.uniforms.random(), self.argmax(self.means())
        spare = self.d * math.log(math.log(self.n))
        if self.v(self.V)[0] > self.level * (math.log(self.t) + spare):
            return greedy, "exploit"
        row = self.offered[
            int(np.searchsorted(np.cumsum(self.w[self.context]), uniform, side="right"))
        ]
        self.S += 1
        self.improve(math.sqrt(math.log(self.S) + spare))
        return row, "agreed" if row == greedy else "explored"

    def improve(self, root):
        rho, sets, p = self.seen / self.t, self.sets.split(self.X), self.z * math.exp(3 * self.k)
        widths = self.sets.split(root * np.sqrt(self.norms()))
        W = sum(
            share * (arms.T * w) @ arms for share, arms, w in zip(rho, sets, self.w, strict=True)
        )
        value, alternative = self.v(W + 1e-6 * np.trace(W) * np.eye(self.d))
        g = (
            value / 2
            + self.kappa
            * sum(share * w @ width for share, w, width in zip(rho, self.w, widths, strict=True))
            - 1 / (self.z * math.exp(self.k))
        )
        for m, (arms, width) in enumerate(zip(sets, widths, strict=True)):
            q = (
                arms @ self.theta()
                + width
                + self.price * ((arms @ (self.theta() - alternative)) ** 2 / 2 + self.kappa * width)
            )
            w = self.w[m] * np.exp(self.weight_step / p**self.decay * (q - q.max()))
            self.w[m] = w / w.sum()
        self.price = float(np.clip(self.price - self.price_step / p**self.decay * g, 0, 10))
        self.spent += 1
        if self.spent >= p:
            self.k, self.spent = self.k + 1, 0
            if self.reset:
                self.start_anew()
