"""Objects that show themselves: a short text, a table in a notebook, a data frame."""

import subprocess
import sys
from dataclasses import replace
from threading import Thread
from xml.etree import ElementTree

import numpy as np
import pytest

import thrifty as th
from thrifty.display import MOST_ROWS

NASTY = "<script>alert('&')</script>"
SETS = th.ActionSets(
    [[[1, 0], [0, 1], [0.9, 0.5]], [[1, 0], [0.8, 0.3]]],
    context_names=[NASTY, "desktop\nor not"],
    arm_names=[[NASTY, "b", "c"], ["a", "x" * 1000]],
)
INSTANCE = th.Instance(SETS, theta=[1, 0], name=NASTY)


def played(sets=SETS, policy=None, rounds=60):
    """A learner after some rounds, and its last decision, which waits."""
    learner = (policy or th.LinTS()).learner(sets, seed=1)
    rng = np.random.default_rng(0)
    for n in range(rounds):
        learner.learn(learner.choose(n % sets.contexts), float(rng.normal()))
    return learner, learner.choose(0)


def opened(policy=None, dimension=3, **options):
    learner = (policy or th.Greedy()).learner(dimension=dimension, **options)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, dimension))
    learner.observe(rows, reward=rows @ np.arange(dimension) + 0.1 * rng.normal(size=400))
    return learner


def shown(thing):
    """The rows of an object's table, headings first, and the text around it."""
    page = ElementTree.fromstring(f"<div>{thing._repr_html_()}</div>")
    rows = [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]
    return rows, [paragraph.text for paragraph in page.iter("p")]


@pytest.fixture(scope="module")
def study():
    return th.run(
        [INSTANCE, "bounded"], ["greedy", "egreedy"], horizon=[50, 200], replications=4, seed=3
    )


@pytest.fixture(scope="module")
def objects(study):
    learner, decision = played()
    bound = th.lower_bound(INSTANCE)
    return {
        "study": study,
        "result": study.results[0],
        "bound": bound,
        "allocation": bound.solution,
        "listed": learner,
        "explanation": learner.explain(decision),
        "open": opened(),
    }


KINDS = ("study", "result", "bound", "allocation", "listed", "explanation", "open")


@pytest.mark.parametrize("kind", KINDS)
def test_a_short_text_and_a_table_without_markup_of_others(kind, objects):
    text = repr(objects[kind])
    assert text.startswith("<")
    assert text.isprintable()
    assert len(text) < 250
    page = objects[kind]._repr_html_()
    assert "<script" not in page
    assert "color" not in page
    assert "background" not in page
    rows, paragraphs = shown(objects[kind])
    assert 1 < len(rows) <= MOST_ROWS + 1
    assert len({len(row) for row in rows}) == 1
    assert paragraphs


def test_names_are_shown_as_they_are_but_short(objects):
    rows, _ = shown(objects["listed"])
    assert rows[1][:2] == [NASTY, NASTY]
    assert [row[0] for row in rows[4:]] == ["desktop\\nor not"] * 2
    assert rows[5][1] == "x" * 57 + "..."
    assert shown(objects["study"])[0][1][0] == NASTY
    assert NASTY in shown(objects["bound"])[1][0]
    assert NASTY in repr(objects["result"])


def test_a_learner_of_listed_contexts(objects):
    learner, decision = played()
    frame = learner.to_frame()
    assert list(frame.columns) == ["context", "arm", "mean", "error", "pulls"]
    assert list(frame["arm"]) == [name for names in SETS.arm_names for name in names]
    assert list(frame["context"]) == [SETS.context_names[0]] * 3 + [SETS.context_names[1]] * 2
    reports = learner.explain(decision).arms
    own = frame[:3]
    assert list(own["mean"]) == [arm.mean for arm in reports]
    assert list(own["error"]) == [arm.standard_error for arm in reports]
    assert list(own["pulls"]) == [arm.pulls for arm in reports]
    rows, [title] = shown(learner)
    assert rows[0] == list(frame.columns)
    assert rows[2][2] == f"{reports[1].mean:.4g}"
    expected = "lints, listed contexts: 2, with 5 arms, d = 2, 61 rounds, 1 pending, noise 1"
    assert title == f"learner: {expected}"


def test_the_noise_that_is_estimated():
    learner, _ = played(policy=th.Thrifty())
    assert shown(learner)[1][0].endswith(f"noise {learner.state.model[0].noise:.4g} (estimated)")
    known = th.Thrifty().learner(SETS, noise=0.25)
    assert shown(known)[1][0].endswith("noise 0.25")


def test_of_many_arms_those_with_most_pulls():
    rows = np.random.default_rng(5).normal(size=(100, 3))
    learner = th.LinTS().learner(th.ActionSets([rows]))
    for arm in (70, 70, 70, 31, 31, 99):
        learner.observe(0, arm, 0.1)
    table, notes = shown(learner)
    assert [row[1] for row in table[1:5]] == ["70", "31", "99", "0"]
    assert len(table) == MOST_ROWS + 1
    assert notes[1:] == ["20 of 100 rows, most pulls first; to_frame() has all"]
    assert len(learner.to_frame()) == 100


def test_a_learner_of_open_contexts():
    learner = opened(columns=["age", "income", "<i>"])
    frame = learner.to_frame()
    assert list(frame.columns) == ["coefficient", "estimate", "error"]
    pairs = zip(frame["estimate"], frame["error"], strict=True)
    assert dict(zip(frame["coefficient"], pairs, strict=True)) == learner.coefficients()
    rows, [title] = shown(learner)
    assert [row[0] for row in rows[1:]] == ["age", "income", "<i>"]
    expected = "greedy, open contexts of 3 features, 400 rounds, 0 pending, noise 1"
    assert title == f"learner: {expected}"


def test_of_many_coefficients_those_of_largest_z_score():
    learner = opened(dimension=40)  # the true coefficients are 0, 1, ..., 39
    rows, notes = shown(learner)
    found = {int(row[0]) for row in rows[1:]}
    assert len(rows) == MOST_ROWS + 1
    assert found == set(range(20, 40))
    assert notes[1:] == ["20 of 40 rows, largest z-score first; to_frame() has all"]


def test_an_explanation_has_the_arms_and_which_was_chosen():
    learner, decision = played(policy=th.OAM(horizon=1e4))
    explanation = learner.explain(decision)
    frame = explanation.to_frame()
    expected = ["arm", "mean", "error", "gap", "pulls", "target", "chosen"]
    assert list(frame.columns) == expected
    assert list(frame["arm"][frame["chosen"]]) == [decision.name]
    assert list(frame["target"]) == [arm.target for arm in explanation.arms]
    assert repr(explanation) == f"<explanation: {NASTY}: {decision.name} ({decision.label})>"
    open_learner = opened()
    last = open_learner.explain(open_learner.choose(np.eye(3)))
    assert list(last.to_frame().columns) == ["arm", "mean", "error", "gap", "chosen"]


def test_of_many_arms_the_chosen_one_is_shown():
    rows = np.random.default_rng(5).normal(size=(100, 3))
    learner = th.LinTS().learner(th.ActionSets([rows]))
    worst = int((rows @ np.ones(3)).argmin())
    learner.observe([0] * 200, [n % 100 for n in range(200)], np.tile(rows @ np.ones(3), 2))
    explanation = learner.explain(learner.choose(0, available=[worst]))
    table, _ = shown(explanation)
    assert (table[1][0], table[1][-1]) == (str(worst), "yes")
    gaps = sorted(arm.gap for arm in explanation.arms)
    assert [row[3] for row in table[2:]] == [f"{gap:.4g}" for gap in gaps[: MOST_ROWS - 1]]


def test_a_study_is_its_summary(study):
    frame = study.to_frame()
    assert len(frame) == 8
    assert list(frame.columns) == list(study.summary()[0])
    assert list(frame["mean"]) == [result.mean for result in study.results]
    assert frame["ratio"].isna().sum() == 4  # bounded: C = 0
    assert frame["ratio"].dtype == float
    rows, _ = shown(study)
    assert rows[0] == list(frame.columns)
    assert {row[-1] for row in rows[5:]} == {""}
    assert repr(study) == f"<study: {NASTY}, bounded; greedy, egreedy; n = 50, 200>"


def test_a_result_has_a_row_for_each_replication_and_checkpoint(study):
    result = study["bounded", "egreedy"]
    frame = result.to_frame()
    assert list(frame.columns) == [
        "instance",
        "policy",
        "horizon",
        "replicate",
        "round",
        "regret",
    ]
    last = frame[frame["round"] == 200]
    assert list(last["replicate"]) == [0, 1, 2, 3]
    assert list(last["regret"]) == result.final.tolist()
    curve = frame.groupby("round")["regret"].mean()
    assert curve.to_numpy() == pytest.approx(result.curves.mean(axis=0))
    rows, notes = shown(result)
    assert [row[0] for row in rows[1:]] == list(result.labels)
    assert sum(float(row[1]) for row in rows[1:]) == pytest.approx(200, rel=1e-3)
    assert f"worst {result.max:.4g}" in notes[1]
    numbers = f"n = 200, replications 4, regret {result.mean:.4g} ± {result.se:.2g}"
    assert repr(result) == f"<result: egreedy on bounded, {numbers}>"


def test_a_single_replication_has_no_standard_error():
    study = th.run(INSTANCE, "greedy", horizon=20, replications=1)
    assert "±" not in repr(study.results[0])
    errors = study.to_frame()["se"]
    assert errors.isna().all()
    assert errors.dtype == float


def test_a_bound_has_a_row_for_each_arm_and_its_regret_sums_to_the_constant():
    bound = th.lower_bound(th.instance("scenario-one"))
    frame = bound.to_frame()
    assert list(frame.columns) == ["context", "arm", "gap", "optimal", "pulls", "regret"]
    assert frame["regret"].sum() == pytest.approx(bound.constant)
    assert list(frame["pulls"]) == np.concatenate(bound.allocation).tolist()
    assert list(frame["optimal"]) == [gap == 0 for gap in frame["gap"]]
    rows, notes = shown(bound)
    carriers = bound.carriers()
    assert [tuple(row[:2]) for row in rows[1:]] == [(one.context, one.arm) for one in carriers]
    assert bound.in_words() in notes
    assert all(remark in notes for remark in bound.remarks)


def test_of_many_arms_those_that_the_bound_explores():
    """Optimal arms, one in each context, could fill the table."""
    contexts = [[[1.0, 0.0, 0.1 * m], [0.5, 1.0, 0.0]] for m in range(1, 31)]
    bound = th.lower_bound(th.Instance(th.ActionSets(contexts), theta=[1, 0, 0]))
    assert sum(one.free for one in bound.carriers()) == 30
    assert float(shown(bound)[0][1][-1]) == pytest.approx(
        bound.to_frame()["regret"].max(), rel=1e-3
    )


def test_an_allocation_has_a_row_for_each_arm():
    found = th.allocate([[1, 0], [0, 1], [0.9, 0.5]], gaps=[0, 1, 0.1], best=[1, 0, 0])
    assert found.to_frame().to_dict("list") == {
        "arm": [0, 1, 2],
        "pulls": found.pulls.tolist(),
        "price": found.prices.tolist(),
    }
    rows, _ = shown(found)
    assert [row[:2] for row in rows[1:]] == [["0", "inf"], ["2", "200"]]
    assert repr(found) == "<allocation: 3 arms, value = 20, solved, certified gap 0e+00>"


def test_pulls_of_a_failed_solve_are_not_shown():
    bound = th.lower_bound(INSTANCE)
    failed = replace(bound.solution, status=th.Status.FAILED, lower=1.5)
    assert repr(failed) == "<allocation: 5 arms, value >= 1.5, failed>"
    assert shown(failed) == ([], [repr(failed)[1:-1], failed.status.advice])
    rows, notes = shown(replace(bound, solution=failed))
    assert rows == []
    assert "The solve failed: C is at least 1.5" in notes[1]


@pytest.mark.parametrize("kind", ["listed", "open"])
@pytest.mark.parametrize("method", ["to_frame", "_repr_html_"])
def test_a_learner_shows_itself_when_no_other_thread_uses_it(kind, method, objects):
    learner, show = objects[kind], getattr(objects[kind], method)
    show()  # imports take time
    thread = Thread(target=show)
    with learner._lock:
        thread.start()
        thread.join(timeout=0.2)
        assert thread.is_alive()
    thread.join(timeout=60)
    assert not thread.is_alive()


@pytest.mark.slow
def test_tables_need_no_pandas():
    code = """
import sys; sys.modules["pandas"] = None
import thrifty as th
print(th.lower_bound(th.instance("fixed-u0.1"))._repr_html_())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "<table>" in done.stdout
