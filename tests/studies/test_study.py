"""thrifty.run: pairing, threads, statistics, errors, interruption."""

import json
import math

import numpy as np
import pytest

import thrifty as th
from tests.agreement import same
from thrifty.studies.executors import Threads
from thrifty.studies.tasks import Task


def test_the_same_bits_for_any_number_of_threads_and_any_company():
    specs = ["oam", "lints", "ossb", "egreedy"]
    one, two, eight = (
        th.run(
            ["fixed-u0.1", "scenario-one"],
            specs,
            horizon=2000,
            replications=6,
            seed=5,
            threads=threads,
        )
        for threads in (1, 2, 8)
    )
    assert same(one, two)
    assert same(one, eight)
    alone = th.run("scenario-one", "lints", horizon=2000, replications=6, seed=5)
    assert np.array_equal(alone.results[0].regret, one["scenario-one", "lints"].regret)


def test_more_replications_keep_the_first_ones():
    few, many = (
        th.run("fixed-u0.1", "lints", horizon=500, replications=count).results[0]
        for count in (3, 7)
    )
    assert np.array_equal(many.regret[:3], few.regret)


def test_statistics_are_those_of_the_final_regret():
    result = th.run("fixed-u0.1", "lints", horizon=1000, replications=40).results[0]
    final = result.regret[:, -1].sum(axis=1)
    assert result.mean == pytest.approx(np.mean(final))
    assert result.se == pytest.approx(np.std(final, ddof=1) / math.sqrt(40))
    assert result.median == np.median(final)
    assert result.p95 == np.percentile(final, 95)
    assert result.max == final.max()
    assert result.ratio == pytest.approx(result.mean / (20 * math.log(1000)))
    assert result.rounds_per_second == pytest.approx(40_000 / result.seconds)


def test_no_ratio_where_the_bound_is_zero_or_does_not_apply():
    assert th.run("bounded", "greedy", horizon=100, replications=2).results[0].ratio is None
    bernoulli = th.Instance(th.instance("fixed-u0.1").sets, theta=[0.8, 0.2])
    assert (
        th.run(bernoulli, "greedy", horizon=100, replications=2, rewards="bernoulli")
        .results[0]
        .ratio
        is None
    )


def test_a_single_replication_has_no_standard_error():
    entry = th.run("fixed-u0.1", "greedy", horizon=100, replications=1).to_json()[0]
    assert entry["se"] is None
    json.dumps(entry, allow_nan=False)


def test_json_keeps_the_contract():
    [entry] = th.run("fixed-u0.1", th.OAM(c=1), horizon=1e3, replications=4).to_json()
    keys = [
        "instance",
        "policy",
        "horizon",
        "replications",
        "mean",
        "se",
        "median",
        "p95",
        "max",
        "checkpoints",
        "labels",
        "seconds",
        "rounds_per_second",
    ]
    assert set(keys) <= set(entry)
    assert (entry["instance"], entry["policy"], entry["horizon"], entry["replications"]) == (
        "fixed-u0.1",
        "oam:c=1",
        1000,
        4,
    )
    assert entry["checkpoints"]["1000"] == pytest.approx(entry["mean"])
    assert set(entry["labels"]) == {"init", "exploit", "forced", "matched", "wasted"}
    assert sum(label["rounds"] for label in entry["labels"].values()) == pytest.approx(1000)
    assert sum(label["regret"] for label in entry["labels"].values()) == pytest.approx(
        entry["mean"]
    )


def test_json_has_mean_pulls_by_context_only_where_they_are_kept():
    settings = {"horizon": 300, "replications": 4, "seed": 2}
    plain, kept = (
        th.run("scenario-two", "lints", pulls=pulls, **settings) for pulls in (False, True)
    )
    assert plain.results[0].pulls.shape == (4, len(plain.results[0].times), 0)
    [without], [entry] = plain.to_json(), kept.to_json()
    mean = kept.results[0].pulls[:, -1].mean(axis=0)
    assert entry["pulls"] == [mean[:3].tolist(), mean[3:].tolist()]
    assert sum(map(sum, entry["pulls"])) == pytest.approx(300)
    assert set(entry) - set(without) == {"pulls"}
    measured = ("seconds", "rounds_per_second")
    assert all(entry[key] == without[key] for key in without if key not in measured)


def test_pulls_of_instances_that_differ_in_size_are_refused():
    message = "pulls: cannot be kept: instances of drawn:seed=each differ"
    with pytest.raises(th.InvalidInput, match=message):
        th.run("drawn:seed=each", "lints", horizon=10, pulls=True)
    study = th.run("random-theta:seed=each", "lints", horizon=10, replications=3, pulls=True)
    assert study.results[0].pulls[:, -1].sum(axis=1).tolist() == [10, 10, 10]
    assert [len(arms) for arms in study.to_json()[0]["pulls"]] == [100]


def test_summary_and_lookup():
    study = th.run("fixed-u0.1", ["greedy", "lints"], horizon=100, replications=3)
    assert [(row["policy"], row["mean"]) for row in study.summary()] == [
        (result.policy, result.mean) for result in study.results
    ]
    assert study["fixed-u0.1", "lints"] is study.results[1]
    with pytest.raises(KeyError, match="unknown policy of this study 'oam'; known: greedy, lints"):
        study["fixed-u0.1", "oam"]
    with pytest.raises(th.UnknownName, match=r"instance of this study 'bounded'; .*fixed-u0.1"):
        study["bounded", "lints"]
    with pytest.raises(th.UnknownName, match="horizon of this study '7'; known: 100"):
        study["fixed-u0.1", "lints", 7]
    with pytest.raises(KeyError, match="policy of this study"):
        study["fixed-u0.1"]


def test_lookup_without_a_horizon_gives_the_longest():
    study = th.run("fixed-u0.1", "greedy", horizon=[10, 30, 20], replications=2)
    assert study["fixed-u0.1", "greedy"].horizon == 30
    assert study["fixed-u0.1", "greedy", 20].horizon == 20


def test_one_round_has_no_ratio():
    """log 1 = 0."""
    assert th.run("fixed-u0.1", "greedy", horizon=1, replications=2).results[0].ratio is None


def test_the_figure_has_a_panel_for_each_instance_and_a_line_for_each_policy(tmp_path):
    study = th.run(["fixed-u0.1", "bounded"], ["greedy", "lints"], horizon=100, replications=3)
    first, second = study.plot().axes
    assert first.get_title() == "fixed-u0.1"
    assert [line.get_label() for line in first.get_lines()] == ["greedy", "lints", "C log n"]
    assert [line.get_label() for line in second.get_lines()] == ["greedy", "lints"]  # C = 0 there
    assert first.get_lines()[1].get_color() == second.get_lines()[1].get_color()
    study.write(tmp_path / "new" / "folder")
    [written] = (tmp_path / "new" / "folder").iterdir()
    assert (written.name, json.loads(written.read_text())) == ("results.json", study.to_json())


class Broken:
    def start(self, sets, *, noise, horizon, rng):
        pass

    def choose(self, context):
        return 17

    def learn(self, context, arm, reward):
        pass


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            ("fixed-u0.1", "linucb"),
            {"horizon": 0},
            "horizon: a whole number from 1 to 1e+12 expected, got 0",
        ),
        (
            ("fixed-u0.1", "linucb"),
            {"horizon": 10.5},
            "horizon: a whole number from 1 to 1e+12 expected, got 10.5",
        ),
        (
            ("fixed-u0.1", "linucb"),
            {"horizon": math.nan},
            "horizon: a finite number expected, got nan",
        ),
        (
            ("fixed-u0.1", "linucb"),
            {"horizon": 10, "replications": 0},
            "replications: a whole number from 1 to 1e+07 expected, got 0",
        ),
        (
            ("fixed-u0.1", "linucb"),
            {"horizon": 10, "seed": -1},
            "seed: a whole number from 0 to 9.22337e+18 expected, got -1",
        ),
        (
            ("fixed-u0.1", "linucb"),
            {"horizon": 10, "threads": 0},
            "threads: a whole number from 1 to 1024 expected, got 0",
        ),
        (
            ("fixed-u0.1", "linucp"),
            {"horizon": 10},
            "unknown policy 'linucp'; did you mean 'linucb'?",
        ),
        (
            ("fixed-u0.3x", "linucb"),
            {"horizon": 10},
            "unknown instance 'fixed-u0.3x'; did you mean 'fixed-u0.2'?",
        ),
        ((["fixed-u0.1"], []), {"horizon": 10}, "policies: at least one expected, got []"),
        (("fixed-u0.1", "linucb"), {"horizon": []}, "horizon: at least one expected, got []"),
        (
            ("fixed-u0.1", Broken()),
            {"horizon": 10},
            "Broken: choose: an arm from 0 to 2 expected, got 17",
        ),
        (
            ("fixed-u0.1", ["linucb", "linucb"]),
            {"horizon": 10},
            "policies[1]: 'linucb' is already in the list",
        ),
        (
            ("fixed-u0.1", Broken),
            {"horizon": 10},
            "policy: pass Broken(), not the class Broken",
        ),
        (
            (3, "linucb"),
            {"horizon": 10},
            "instances: thrifty.Instance, or the name of one expected, got 3",
        ),
        (
            ("fixed-u0.1", "linucb"),
            {"horizon": 10, "pulls": "yes"},
            "pulls: true or false expected, got 'yes'",
        ),
        pytest.param(
            ("circle:arms=1000000", ["linucb", "lints"]),
            {"horizon": 10, "pulls": True},
            "pulls: cannot be kept: 2,000,000,000 numbers (replications x checkpoints x arms), at "
            "most 1,000,000,000",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_mistakes_are_named_before_any_work(arguments, options, message):
    with pytest.raises(th.ThriftyError) as caught:
        th.run(*arguments, **options)
    assert str(caught.value) == message


def test_an_object_that_is_no_policy():
    with pytest.raises(th.InvalidInput, match="a policy object or a spec such as"):
        th.run("fixed-u0.1", object(), horizon=10)


class Interrupting(Broken):
    """Raises what Ctrl-C raises, in the middle of a run."""

    def __init__(self):
        self.rounds = 0

    def choose(self, context):
        self.rounds += 1
        if self.rounds > 50:
            raise KeyboardInterrupt
        return 0


def test_an_interruption_ends_the_run():
    # the other policy alone would take hours
    with pytest.raises(KeyboardInterrupt):
        th.run("fixed-u0.1", [Interrupting(), "linucb"], horizon=10**11, replications=1, threads=2)


def test_no_bar_where_stderr_is_no_terminal(capsys):
    th.run("fixed-u0.1", "lints", horizon=200, replications=2)
    assert capsys.readouterr().err == ""


def test_chunks_are_played_in_random_order(monkeypatch):
    """So that the chunks that are done are representative when the remaining time is estimated."""
    orders, play = [], Threads.run

    def run(self, chunks, tick):
        orders.append([chunk.task.horizon for chunk in chunks])
        return play(self, chunks, tick)

    monkeypatch.setattr(Threads, "run", run)
    for _ in range(2):
        th.run("fixed-u0.1", "greedy", horizon=range(10, 40), replications=1)
    first, second = orders
    assert sorted(first) == list(range(10, 40))
    assert first != sorted(first)
    assert first == second


def test_chunks_of_short_runs_have_at_most_a_thousand_replications():
    chunks = Task(th.instance("fixed-u0.1"), th.Greedy(), 1).chunks(range(100, 2600))
    assert [(chunk.first, chunk.stop) for chunk in chunks] == [
        (100, 1100),
        (1100, 2100),
        (2100, 2600),
    ]


def test_large_instances_are_expected_to_take_longer():
    small, large = (
        Task(th.instance(name), th.Greedy(), 1000).chunks(range(1))[0]
        for name in ("fixed-u0.1", "large-100")
    )
    assert large.cost > 5 * small.cost
