"""Slow twins of the policies that draw arms from a distribution over the arms on offer."""

import math

import numpy as np

from tests.policies.twins import Twin


class Sampler(Twin):
    """The prior is N(0, I) unless a ridge is given; an arm is drawn by one uniform number."""

    prior = None

    def start(self, *args, **kwargs):
        self.ridge = kwargs["noise"] ** 2 if self.prior is None else self.prior
        super().start(*args, **kwargs)

    def draw(self, probabilities, greedy):
        """A row of those on offer, and whether it is the greedy one."""
        bounds = np.cumsum(probabilities) / np.sum(probabilities)
        row = self.offered[int(np.searchsorted(bounds, self.uniforms.random(), side="right"))]
        return row, "greedy" if row == greedy else "sampled"


class SquareCBTwin(Sampler):
    def __init__(self, c=10.0, prior=None):
        self.c, self.prior = c, prior

    def decide(self):
        means = self.means()
        greedy = self.argmax(means)
        gaps = (means[greedy] - means[self.offered]) / self.noise
        p = 1 / (len(self.offered) + self.c * math.sqrt(self.t) * gaps)
        p[self.offered == greedy] += 1 - p.sum()
        return self.draw(p, greedy)
