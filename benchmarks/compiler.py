"""What each private part of Numba buys: processor seconds to compile, and time when it runs."""

import os
import subprocess
import sys
import tempfile

TITLE = "Private parts of Numba"
RUNS = 2

# Statements that take one part away, before anything is compiled.
PARTS = {
    "all of them": "",
    "no callees without machine code: the public backend": None,
    "no kernels without reference counts": "b.INLINED = b.OPTIONS | {'forceinline': True}",
    "no direct calls": "c.direct_call = lambda entry, *_: entry",
}
# The first use of two policies and of a learner; then rounds per second, and time of a decision.
USE = """
import resource, time
import thrifty.compiler.compilation as c
{part}
import thrifty as th
def seconds():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime
def fastest(call, runs=5):
    times = []
    for _ in range(runs):
        begun = seconds()
        call()
        times.append(seconds() - begun)
    return min(times)
begun = seconds()
for policy in ("oam", "linucb"):
    th.run("fixed-u0.1", policy, horizon=10, replications=1, progress=False, threads=1)
learner = th.Greedy().learner(th.instance("drawn:seed=3").sets)
learner.learn(learner.choose(0), 0.0)
compiled = seconds() - begun
def play():
    th.run("drawn:seed=3", "linucb", horizon=5e5, replications=1, progress=False, threads=1)
def decide():
    for _ in range(20_000):
        learner.learn(learner.choose(0), 0.5)
play()
print(compiled, 5e5 / fastest(play), fastest(decide) / 20_000 * 1e6)
"""


def measure() -> str:
    """The best of some runs for each part, with an empty cache."""
    results = {part: [_run(taken) for _ in range(RUNS)] for part, taken in PARTS.items()}
    best = {
        part: (min(r[0] for r in runs), max(r[1] for r in runs), min(r[2] for r in runs))
        for part, runs in results.items()
    }
    whole = best["all of them"]
    lines = [
        "| without | to compile, s | factor | M rounds/s | factor | decision, µs | factor |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for part, (compiled, rounds, decided) in best.items():
        lines.append(
            f"| {part} | {compiled:.1f} | **{compiled / whole[0]:.2f}** | {rounds / 1e6:.2f} | "
            f"**{whole[1] / rounds:.2f}** | {decided:.2f} | **{decided / whole[2]:.2f}** |"
        )
    lines += ["", "Processor seconds, with an empty cache; a factor above 1 is what a part buys."]
    return "\n".join(lines)


def _run(taken: str | None) -> tuple[float, ...]:
    part = "" if not taken else f"import thrifty.compiler.accelerated_backend as b\n{taken}"
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"THRIFTY_CACHE_DIR": cache}
        if taken is None:
            environment["THRIFTY_PLAIN_NUMBA"] = "1"
        command = [sys.executable, "-c", USE.format(part=part)]
        done = subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True, timeout=900
        )
    return tuple(map(float, done.stdout.split()))
