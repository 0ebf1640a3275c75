"""Slow twins of the policies that draw arms from a distribution over the arms on offer."""

import math
from itertools import product

import numpy as np

from tests.policies.twins import Twin


class Sampler(Twin):
    """An arm is drawn by one uniform number."""

    def draw(self, probabilities, greedy):
        """A row of those on offer, and whether it is the greedy one."""
        bounds = np.cumsum(probabilities) / np.sum(probabilities)
        row = self.offered[int(np.searchsorted(bounds, self.uniforms.random(), side="right"))]
        return row, "greedy" if row == greedy else "sampled"

    def draw_greedy_first(self, probabilities, greedy):
        """The same, with the greedy arm first in the cumulated sum."""
        first = np.flatnonzero(self.offered == greedy)
        order = np.concatenate([first, np.flatnonzero(self.offered != greedy)])
        bounds = np.cumsum(probabilities[order]) / np.sum(probabilities)
        drawn = int(np.searchsorted(bounds, self.uniforms.random(), side="right"))
        row = self.offered[order[drawn]]
        return row, "greedy" if row == greedy else "sampled"


class SquareCBTwin(Sampler):
    def __init__(self, c=10.0, ridge=None):
        self.c, self.ridge = c, ridge

    def decide(self):
        means = self.means()
        greedy = self.argmax(means)
        gaps = (means[greedy] - means[self.offered]) / self.noise
        p = 1 / (len(self.offered) + self.c * math.sqrt(self.t) * gaps)
        p[self.offered == greedy] += 1 - p.sum()
        return self.draw(p, greedy)


class LinMEDTwin(Sampler):
    def __init__(self, alpha_emp=0.99, alpha_opt=0.005, ridge=None, delta=0.01):
        self.alpha_emp, self.alpha_opt, self.ridge, self.delta = alpha_emp, alpha_opt, ridge, delta

    def decide(self):
        means, inverse = self.means(), np.linalg.inv(self.V)
        greedy = self.argmax(means)
        logdet = np.linalg.slogdet(self.V / self.ridge)[1]
        beta = (
            self.noise * math.sqrt(2 * math.log(1 / self.delta) + logdet) + math.sqrt(self.ridge)
        ) ** 2
        F = []
        for row in self.offered:
            difference = self.X[greedy] - self.X[row]
            spread = beta * difference @ inverse @ difference
            F.append(np.exp(-((means[greedy] - means[row]) ** 2) / spread) if spread > 0 else 1.0)
        K = len(self.offered)
        q = self.alpha_opt * design(self.X[self.offered] * np.sqrt(F)[:, None])
        q += (1 - self.alpha_emp - self.alpha_opt) / K
        q += self.alpha_emp * (self.offered == greedy)
        return self.draw_greedy_first(q * F, greedy)


def design(arms):
    """Fedorov and Wynn's steps towards the G-optimal design, W inverted anew in each."""
    K, d = arms.shape
    w, ridge = np.full(K, 1 / K), 1e-6 * (arms**2).sum() / K
    for _ in range(20):
        inverse = np.linalg.inv((arms.T * w) @ arms + ridge * np.eye(d))
        norms = np.einsum("ki,ij,kj->k", arms, inverse, arms)
        first, mean = int(np.argmax(norms > norms.max() * (1 - 1e-9))), w @ norms
        if norms[first] <= 1.1 * max(1, mean):
            break
        step = min(0.5, (norms[first] / mean - 1) / (norms[first] - 1))
        w, ridge = (1 - step) * w + step * (np.arange(K) == first), (1 - step) * ridge
    return w


class VIDSTwin(Sampler):
    def __init__(self, samples=200, ridge=None, anew=False):
        self.samples, self.ridge, self.anew = samples, ridge, anew

    def decide(self):
        uniform, theta, arms = self.uniforms.random(), self.theta(), self.X[self.offered]
        greedy = self.argmax(self.X @ theta)
        generator = self.normals if self.anew else np.random.default_rng(2018)
        xi = generator.standard_normal((self.samples // 2, self.d))
        shifts = self.noise * xi @ np.linalg.cholesky(np.linalg.inv(self.V)).T
        thetas = np.concatenate([theta + shifts, theta - shifts])
        best = (thetas @ arms.T).argmax(axis=1)
        if len(set(best)) == 1:  # v = 0
            return greedy, "exploit"
        regrets = (thetas @ arms.T).max(axis=1).mean() - arms @ theta
        variances = np.zeros(len(arms))
        for x in set(best):
            told = thetas[best == x].mean(axis=0)  # E[theta | x* = x]
            variances += (best == x).mean() * (arms @ (told - theta)) ** 2
        row = self.offered[self.draw_pair(regrets, variances, uniform)]
        return row, "exploit" if row == greedy else "explore"

    def draw_pair(self, regrets, variances, uniform):
        """All pairs in both orders, at both ends and at the stationary point."""
        trials = []
        for i, j in product(range(len(regrets)), repeat=2):
            with np.errstate(divide="ignore", invalid="ignore"):
                inner = regrets[i] / (regrets[j] - regrets[i])
                inner -= 2 * variances[i] / (variances[j] - variances[i])
            # of a distribution and its mirror image, the one whose second arm has more regret
            inside = 0 < inner < 1 and regrets[j] > regrets[i]
            for p in (0.0, inner) if inside else (0.0,):
                regret = (1 - p) * regrets[i] + p * regrets[j]
                mixed = (1 - p) * variances[i] + p * variances[j]
                trials.append((regret**2 / mixed if mixed > 0 else np.inf, i, j, p))
        least = min(trials)[0]
        _, i, j, p = next(trial for trial in trials if trial[0] <= least * (1 + 1e-9))
        return j if uniform < p else i
