"""Slow twins of the policies that weigh what the data say against alternatives: ids, solid,
thrifty, penalty.
"""

import math
from itertools import pairwise

import numpy as np
from scipy.stats import norm

from tests.policies.twins import Twin


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
    def __init__(self, estimate=True, caution=0.6):
        self.estimate, self.caution = estimate, caution

    def start(self, *args, **kwargs):
        self.ridge = kwargs["noise"] ** 2
        super().start(*args, **kwargs)
        self.scale, self.squares, self.seen = 1.0, 0.0, 0
        self.due, self.found = None, {}

    def learn(self, context, arm, reward):
        super().learn(context, arm, reward)
        self.squares += reward**2
        self.seen += 1

    def decide(self):
        whether, which = self.uniforms.random(2)
        if self.due is None or np.linalg.slogdet(self.V)[1] >= self.due[0] or self.t >= self.due[1]:
            self.fit()
            logdet = np.linalg.slogdet(self.V)[1]
            self.due = (logdet + math.log(1.1) * max(1, self.d / 4), 1.1 * self.t)
            self.found = {}
        means = self.means()
        greedy = self.argmax(means)
        if self.found.get(self.context, (None,))[0] != greedy:
            self.found[self.context] = (greedy, self.improvements(means, greedy))
        losses = self.found[self.context][1]
        if losses.max() > 0:
            bounds = np.cumsum(losses) / losses.sum()
            question = self.offered[int(np.searchsorted(bounds, which, side="right"))]
            along = np.linalg.solve(self.V, self.X[greedy] - self.X[question])
            info = {row: (self.X[row] @ along) ** 2 for row in self.offered}
            gaps = {row: losses.max() + means[greedy] - means[row] for row in self.offered}
            row, p = least_ratio(self.offered, greedy, gaps, info)
            if row != greedy and whether < p:
                return row, "explore"
        return greedy, "exploit"

    def fit(self):
        """Noise and prior; a changed ridge changes V."""
        theta = self.theta()
        determined = self.d - self.ridge * np.trace(np.linalg.inv(self.V))
        if self.estimate and self.seen:
            gram = self.V - self.ridge * np.eye(self.d)
            residuals = self.squares - 2 * theta @ self.b + theta @ gram @ theta
            self.noise = math.sqrt((self.noise**2 + residuals) / (1 + self.seen - determined))
            least = min(self.noise**2, self.squares / self.seen) / 25
            self.scale = max(self.scale, least)
        scale = max(self.scale, (2 * self.scale + theta @ theta) / (2 + determined))
        ridge = self.noise**2 / scale
        if abs(ridge - self.ridge) >= 0.1 * self.ridge:
            self.V += (ridge - self.ridge) * np.eye(self.d)
            self.ridge = ridge

    def improvements(self, means, greedy):
        """What may be lost to each row on offer, by the moments of their differences."""
        U = self.X[greedy] - self.X[self.offered]
        errors = self.noise * np.sqrt(np.einsum("ki,ij,kj->k", U, np.linalg.inv(self.V), U))
        gaps = means[greedy] - means[self.offered]
        same = (U == 0).all(axis=1)
        z = gaps / np.where(same, 1, errors)
        return np.where(same, 0, errors * norm.pdf(z) - (1 - self.caution) * gaps * norm.sf(z))


class PenaltyTwin(ThriftyTwin):
    """All questions of all contexts at once, from the same model."""

    def start(self, *args, **kwargs):
        super().start(*args, **kwargs)
        self.visits = np.zeros(self.sets.contexts)
        self.best = self.sets.offsets[:-1].copy()
        self.price, self.gained, self.next = None, 0.0, 0.0

    def decide(self):
        uniform = self.uniforms.random()
        self.visits[self.context] += 1
        if self.t >= self.next or self.gained >= 0.03 * max(1, self.d / 4):
            self.fit()
            self.gained, self.next = 0.0, 1.02 * self.t
            self.price = sum(map(self.questions, np.flatnonzero(self.visits)))
        means, norms = self.means(), self.norms()
        greedy = self.argmax(means)
        worth = [
            self.t * (x @ self.price @ x) / (1 + n) for x, n in zip(self.X, norms, strict=True)
        ]
        least = norms[greedy] / (9 * math.exp(0.03 * max(1, self.d / 4)))
        allowed = [row for row in self.offered if norms[row] >= least]
        highest = max(means[row] + worth[row] for row in allowed)
        equal = [row for row in allowed if means[row] + worth[row] == highest]
        row = equal[int(uniform * len(equal))]
        before = self.best[self.context]
        if before != greedy:
            row = before if norms[before] > norms[greedy] else greedy
        self.gained += math.log1p(norms[row])
        return row, "explore" if means[row] < means[greedy] else "exploit"

    def questions(self, m):
        """The price of information for the questions of a context."""
        first, stop = self.sets.offsets[m : m + 2]
        means, inverse, visits = self.means()[first:stop], np.linalg.inv(self.V), self.visits[m]
        best = int(np.argmax(means))
        self.best[m] = first + best
        rows, price = self.X[first:stop], np.zeros((self.d, self.d))
        norms = np.array([x @ inverse @ x for x in rows])
        levels = 6.25 + 2 * np.log(1 + visits * norms / 1000)
        bounds = means + self.noise * np.sqrt(levels * norms)
        for x, mean, bound in zip(rows, means, bounds, strict=True):
            along = inverse @ (rows[best] - x)
            error = self.noise * math.sqrt(max(0.0, (rows[best] - x) @ along))
            if bound > bounds[best] and error > 0:
                weight = norm.pdf((means[best] - mean) / error) / (2 * error)
                price += visits / self.t * weight * self.noise**2 * np.outer(along, along)
        return price


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
