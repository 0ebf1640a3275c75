"""The remaining time of a study: from costs and measured times, without large swings."""

import pytest

import thrifty as th
from thrifty.studies.progress import duration
from thrifty.studies.tasks import Task
from thrifty.studies.workload import Workload


def chunks_of(policy, count, horizon=10_000):
    task = Task(th.instance("fixed-u0.1"), policy, horizon)
    return [chunk for first in range(count) for chunk in task.chunks(range(first, first + 1))]


def play(load, chunk, seconds):
    load.advance(chunk, chunk.rounds)
    load.finish(chunk, seconds)


def test_nothing_is_known_before_the_first_round():
    assert Workload(chunks_of(th.Greedy(), 4)).seconds_left(0.0) is None


def test_equal_chunks_take_equal_times():
    chunks = chunks_of(th.Greedy(), 4)
    load = Workload(chunks)
    play(load, chunks[0], 3.0)
    assert load.seconds_left(3.0) == pytest.approx(9.0)
    load.advance(chunks[1], chunks[1].rounds // 2)  # rounds of an unfinished chunk count, too
    assert load.seconds_left(4.5) == pytest.approx(7.5)


def test_large_instances_are_expected_to_take_longer():
    small, large = (
        Task(th.instance(name), th.Greedy(), 1000) for name in ("fixed-u0.1", "large-100")
    )
    chunks = [*small.chunks(range(1)), *large.chunks(range(1))]
    load = Workload(chunks)
    play(load, chunks[0], 1.0)
    assert load.seconds_left(1.0) == pytest.approx(
        large.seconds_per_round / small.seconds_per_round
    )
    assert large.seconds_per_round > 5 * small.seconds_per_round


def test_a_slow_policy_is_weighted_by_its_measured_time():
    fast, slow = chunks_of(th.Greedy(), 10), chunks_of(th.IDS(), 10)
    load = Workload([*fast, *slow])
    play(load, fast[0], 1.0)
    play(load, slow[0], 20.0)
    elapsed = 21.0
    assert load.seconds_left(elapsed) == pytest.approx(9 * 1.0 + 9 * 20.0)
    for chunk in fast[1:]:  # a phase of fast chunks does not promise an early end
        play(load, chunk, 1.0)
        elapsed += 1.0
    assert load.seconds_left(elapsed) == pytest.approx(9 * 20.0)


def test_a_horizon_is_weighted_by_its_measured_time():
    """Short runs take more time per round: they do not make long ones look slow."""
    short, long = chunks_of(th.OAM(), 4, horizon=1000), chunks_of(th.OAM(), 4, horizon=10_000)
    load = Workload([*short, *long])
    play(load, short[0], 2.0)
    play(load, long[0], 3.0)
    assert load.seconds_left(5.0) == pytest.approx(3 * 2.0 + 3 * 3.0)


def test_at_the_end_nothing_remains():
    chunks = chunks_of(th.Greedy(), 3)
    load = Workload(chunks)
    for chunk in chunks:
        play(load, chunk, 2.0)
    assert load.seconds_left(6.0) == pytest.approx(0.0, abs=1e-9)
    assert load.rounds == sum(chunk.rounds for chunk in chunks)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (3600, "60 min"), (12_000, "3 h 20 min")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_chunks_of_short_runs_have_at_most_a_thousand_replications():
    chunks = Task(th.instance("fixed-u0.1"), th.Greedy(), 1).chunks(range(100, 2600))
    assert [(chunk.first, chunk.stop) for chunk in chunks] == [
        (100, 1100),
        (1100, 2100),
        (2100, 2600),
    ]
