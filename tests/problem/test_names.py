"""Names: text that files can hold, each used once, however many there are."""

import os
import time
from contextlib import contextmanager

import numpy as np
import pytest

import thrifty as th
from tests.plain import FirstArm
from thrifty.studies.design import StudyDesign

MANY = 40_000  # names, for which comparing each with all others takes ten seconds


@contextmanager
def soon():
    """Processor time, which other processes on a busy machine do not change."""
    start = time.process_time()
    yield
    assert time.process_time() - start < 5


@pytest.fixture(name="soon")
def soon_fixture():
    with soon():
        yield


def test_many_named_arms(soon):
    names = [f"arm {i}" for i in range(MANY)]
    assert th.ActionSets([np.ones((MANY, 1))], arm_names=[names]).arm_names == (tuple(names),)


@pytest.mark.slow
def test_many_contexts(soon, tmp_path):
    names = [f"context {i}" for i in range(MANY // 2)]
    sets = th.ActionSets([[[1.0]]] * len(names), context_names=names)
    assert [sets.context_index(name) for name in names] == list(range(len(names)))
    problem = th.Instance(sets, theta=[1])
    problem.save(tmp_path / "many.toml")
    assert th.Instance.load(tmp_path / "many.toml") == problem


@pytest.mark.slow
def test_many_contexts_of_which_one_has_no_probability(soon, tmp_path):
    with_one = "[[contexts]]\narms = [[1]]\nprobability = 0.5\n"
    path = tmp_path / "many.toml"
    path.write_text("theta = [1]\n" + with_one * (MANY // 2) + "[[contexts]]\narms = [[1]]\n")
    with pytest.raises(th.BadFile, match=rf"contexts\[{MANY // 2}\].probability is missing"):
        th.Instance.load(path)


@pytest.mark.slow
def test_many_instances():
    problem = th.instance("fixed-u0.1")
    # making them takes seconds by itself, and compares no names
    problems = [th.Instance(problem.sets, theta=[1, 0], name=f"instance {i}") for i in range(MANY)]
    with (
        soon(),
        pytest.raises(th.InvalidInput, match=r"instances\[40000\]: .* is already in the list"),
    ):
        StudyDesign.of([*problems, problems[7]], "lints", horizon=10)


def test_an_unknown_name_among_many(soon):
    sets = th.ActionSets(
        [[[1.0]]] * MANY, context_names=[f"a context with the number {i}" for i in range(MANY)]
    )
    with pytest.raises(th.UnknownName) as caught:
        sets.context_index("?")
    message = str(caught.value)
    assert message.startswith("unknown context '?'; known: a context with the number 0, ")
    assert message.endswith("a context with the number 4 and 39,995 others")
    with pytest.raises(th.UnknownName, match="did you mean 'a context with the number 7'"):
        sets.context_index("a context with number 7")


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (lambda name: th.Instance(th.ActionSets([[[1]]]), theta=[1], name=name), "name"),
        (lambda name: th.ActionSets([[[1]]], context_names=[name]), "context_names[0]"),
        (lambda name: th.ActionSets([[[1], [0]]], arm_names=[["a", name]]), "arm_names[0][1]"),
    ],
)
def test_surrogates_are_refused(make, where):
    with pytest.raises(th.InvalidInput) as caught:
        make("\udcff")
    assert str(caught.value).startswith(f"{where}: text without surrogates")
    assert str(caught.value).endswith(r"got '\udcff'")


def test_surrogates_in_the_name_of_a_policy_are_refused():
    policy = FirstArm(0)
    policy.name = "\udcff"
    with pytest.raises(th.InvalidInput, match=r"policies\[0\]: text without surrogates"):
        th.run("fixed-u0.1", policy, horizon=1)


def test_a_file_whose_name_is_not_utf8_names_its_instance_by_escapes(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.toml")
    with open(path, "w") as file:
        file.write("theta = [1]\n[[contexts]]\narms = [[1]]\n")
    problem = th.instance(path)
    assert problem.name == r"a\udcff"
    problem.save(path)
    assert th.instance(path) == problem


@pytest.mark.parametrize("given", [None, 5, b"fixed-u0.1", ["fixed-u0.1"]])
def test_what_is_no_name_is_refused(given):
    with pytest.raises(th.InvalidInput, match=r"instance: a name such as fixed-u0\.1, or a path"):
        th.instance(given)
    with pytest.raises(th.InvalidInput, match="policy: a name such as oam"):
        th.policy(given)


def test_more_dimensions_than_memory_can_square_are_refused():
    with pytest.raises(th.InvalidInput, match=r"at most 10000 numbers \(memory grows with their"):
        th.ActionSets([np.ones((1, 60_000))])
