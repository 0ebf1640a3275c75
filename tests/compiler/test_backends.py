"""Both backends give the same bits: public parts of any Numba, private parts of a known one."""

import os
import subprocess
import sys

import pytest

from thrifty.compiler.compilation import ACCELERATED, JIT

pytestmark = [pytest.mark.plain_numba, pytest.mark.slow]
# three policies in the simulator, a bound that needs the solver, a learner with listed arms
PROGRAM = """
import hashlib
import thrifty as th
from thrifty.compiler.compilation import ACCELERATED

print("accelerated" if ACCELERATED else "plain")
for policy in ("linucb", "lints", "thrifty"):
    [result] = th.run("scenario-one", policy, horizon=300, replications=2, seed=3).results
    print(policy, hashlib.sha256(result.regret.tobytes()).hexdigest())
bound = th.lower_bound(th.instance("drawn:seed=7"))
print("bound", bound.constant.hex(), bound.lower.hex(), bound.upper.hex())
learner = th.LinTS().learner(th.instance("scenario-one").sets, seed=1)
for i in range(50):
    decision = learner.choose(i % learner.sets.contexts)
    learner.learn(decision, 0.1 * i)
print("learner", hashlib.sha256(learner.to_bytes()).hexdigest())
"""


def lines(*, plain):
    """What the program prints, in a process of its own; machine code is kept where it always is."""
    environment = os.environ | {"THRIFTY_PLAIN_NUMBA": str(int(plain))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


@pytest.mark.skipif(not JIT, reason="compilation is switched off")
def test_plain_numba_gives_the_bits_of_the_accelerated_backend():
    (way, *plain), (other_way, *accelerated) = lines(plain=True), lines(plain=False)
    assert way == "plain"
    assert other_way == "accelerated" or not ACCELERATED
    assert plain == accelerated
