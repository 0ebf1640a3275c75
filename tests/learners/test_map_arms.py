"""Arms of feature maps come and go: what is learned stays, and a new arm starts from the prior."""

import numpy as np
import pandas
import pytest

import thrifty as th
from tests.learners.loaded import Pair
from tests.learners.open_play import OPEN

COLUMNS = {"age": {"kind": "number", "mean": 40, "deviation": 12}, "country": ["DE", "FR"]}
TABLE = {"red": {"price": 0.2, "size": 1.0}, "blue": {"price": 0.9, "size": 2.0}}
FIXED = [spec for spec in OPEN if spec != "thrifty"]  # whose ridge stays as it is


def disjoint(*arms):
    return th.features.disjoint(list(arms), COLUMNS)


def product():
    return th.features.product(TABLE, COLUMNS)


def visitors(count, seed=0):
    rng = np.random.default_rng(seed)
    ages, countries = rng.normal(40, 12, size=count), rng.choice(["DE", "FR"], size=count)
    return [{"age": float(a), "country": str(c)} for a, c in zip(ages, countries, strict=True)]


def taught(policy, *arms, told=None, rounds=200, **settings):
    """A learner that has observed decisions of others; told: arms whose rewards it gets."""
    learner = th.policy(policy).learner(features=disjoint(*arms), seed=3, **settings)
    rng = np.random.default_rng(1)
    for visitor in visitors(rounds):
        arm, reward = ("red", "blue", "green")[rng.integers(3)], float(rng.normal())
        if arm in (told or arms):
            learner.observe(visitor, arm, reward)
    return learner


def regression_of(learner):
    regression = learner.state.regression
    return (
        regression.theta.tolist()
        + regression.inverse.ravel().tolist()
        + [float(regression.totals[0].logdet)]
    )


@pytest.mark.parametrize("policy", OPEN)
def test_with_a_new_arm_a_learner_knows_what_one_that_always_had_it_knows(policy):
    grown = taught(policy, "red", "blue")
    grown.add_arm("green")
    always = taught(policy, "red", "blue", "green", told=("red", "blue"))
    assert grown.sets == always.sets
    assert regression_of(grown) == pytest.approx(regression_of(always))
    for visitor in visitors(100, seed=5):
        for learner in (grown, always):
            learner.learn(learner.choose(visitor), 0.5)
    assert grown.choose(visitors(1)[0]).name in ("red", "blue", "green")
    assert len(grown.coefficients()) == 12


@pytest.mark.parametrize("policy", OPEN)
def test_a_new_arm_starts_from_the_present_prior(policy):
    learner = taught(policy, "red", "blue")
    for visitor in visitors(50, seed=2):
        learner.learn(learner.choose(visitor), 3.0)
    ridge = float(learner.state.regression.totals[0].ridge)
    before = learner.coefficients()
    learner.add_arm("green")
    after = learner.coefficients()
    assert {name: after[name] for name in before} == {
        name: pytest.approx(pair, rel=1e-9, abs=1e-12) for name, pair in before.items()
    }
    noise = learner.policy.estimated_noise(learner.state) or learner.noise
    for name in ("bias", "age", "country=DE", "country=FR"):
        assert after[f"green: {name}"] == (0, pytest.approx(noise / np.sqrt(ridge)))


@pytest.mark.parametrize("gone", ["red", "blue", "green"])
@pytest.mark.parametrize("policy", FIXED)
def test_without_an_arm_a_learner_knows_what_one_that_never_had_it_knows(policy, gone):
    left = [arm for arm in ("red", "blue", "green") if arm != gone]
    shrunk, never = taught(policy, "red", "blue", "green"), taught(policy, *left)
    shrunk.remove_arm(gone)
    assert shrunk.sets == never.sets
    assert regression_of(shrunk) == pytest.approx(regression_of(never))
    with pytest.raises(th.UnknownName, match=f"unknown arm '{gone}'"):
        shrunk.choose(visitors(1)[0], available=[gone])


def test_the_noise_that_a_removed_arm_has_shown_is_not_forgotten():
    """Its rewards explained themselves: without its block they must not count as noise."""
    learner = th.Thrifty().learner(features=disjoint("red", "blue"), seed=0)
    rng = np.random.default_rng(4)
    for visitor in visitors(2000):
        # red pays 50 more, which is no noise
        for arm, mean in (("red", 50.0), ("blue", visitor["age"] / 40)):
            learner.observe(visitor, arm, mean + 0.3 * rng.normal())
    learner.choose(visitors(1)[0])
    again = th.Learner.load(learner.to_bytes())
    again.remove_arm("red")
    for one in (learner, again):
        one.choose(visitors(1)[0])
    noise = learner.policy.estimated_noise(learner.state)
    assert noise == pytest.approx(0.3, rel=0.05)
    assert again.policy.estimated_noise(again.state) == pytest.approx(noise, rel=0.02)


@pytest.mark.parametrize("policy", OPEN)
def test_pending_decisions_of_arms_that_come_and_go(policy):
    learner = th.policy(policy).learner(features=disjoint("red", "blue", "green"), seed=1)
    visitor = visitors(1)[0]
    red, other_red, blue = (
        learner.choose(visitor, available=[arm]) for arm in ("red", "red", "blue")
    )
    learner.remove_arm("red")
    learner.add_arm("yellow")
    learner.add_arm("red")  # another one: late rewards of the first change nothing
    assert learner.sets.features.arms == ("blue", "green", "yellow", "red")
    learner = th.Learner.load(learner.to_bytes())
    before = regression_of(learner)
    with pytest.raises(th.InvalidInput, match="its arm was removed"):
        learner.explain(red)
    with pytest.raises(th.InvalidInput, match="reward: a finite number"):
        learner.learn(red, float("nan"))
    learner.learn(red, 1e6)
    with pytest.raises(th.InvalidInput, match="not pending: already rewarded"):
        learner.learn(red, 1.0)
    rounds = int(learner.state.ledger.counters[0].rounds)
    learner.cancel(other_red)
    assert regression_of(learner) == before
    assert learner.state.ledger.counters[0].rounds == rounds - 1
    learner.learn(blue, 1.0)  # it has moved from block 1 to block 0
    told = {name for name, (estimate, _) in learner.coefficients().items() if estimate != 0}
    assert told
    assert all(name.startswith("blue: ") for name in told)
    assert not learner.pending


def test_expired_decisions_of_a_removed_arm():
    learner = th.Greedy().learner(
        features=disjoint("red", "blue"), expire={"after": 1, "reward": -5.0}
    )
    visitor = visitors(1)[0]
    learner.choose(visitor, available=["red"])
    learner.remove_arm("red")
    for _ in range(3):
        learner.choose(visitor)
    assert list(learner.pending) == [3]
    assert learner.coefficients()["blue: bias"][0] < 0


def test_indices_are_those_of_the_present_arms_and_names_stay():
    learner = th.Greedy().learner(features=disjoint("red", "blue", "green"))
    visitor = visitors(1)[0]
    assert learner.choose(visitor, available=["green"]).arm == 0  # among those on offer
    learner.remove_arm(0)
    assert learner.sets.features.arms == ("blue", "green")
    learner.observe(visitor, 1, 1.0)
    assert learner.choose(visitor).name == "green"
    learner.remove_arm(arm="blue")
    learner.add_arm(name="blue")
    assert learner.sets.features.arms == ("green", "blue")


ROWS = {
    "dict": {"size": 3.0, "price": 0.5},
    "series": pandas.Series({"size": 3, "price": 0.5}),
    "frame": pandas.DataFrame({"size": [3], "price": [0.5]}),
    "list": [0.5, 3],
    "array": np.array([0.5, 3.0]),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("policy", OPEN)
def test_arms_of_a_product_come_and_go_with_their_rows(policy, row):
    """All arms share theta, and so nothing that was learned changes, to the last bit."""
    learner = th.policy(policy).learner(features=product(), seed=0)
    for visitor in visitors(50):
        learner.learn(learner.choose(visitor), 1.0)
    late = learner.choose(visitors(1)[0], available=["blue"])
    same = th.Learner.load(learner.to_bytes())
    learner.add_arm("green", row)
    assert regression_of(learner) == regression_of(same)
    grown = th.features.product(TABLE | {"green": {"price": 0.5, "size": 3.0}}, COLUMNS)
    assert learner.sets.features == grown
    learner.remove_arm("blue")
    assert learner.sets.features.arms == ("red", "green")
    assert learner.sets.features.whole(visitors(1)[0])[1].tolist() == (
        grown.whole(visitors(1)[0])[2].tolist()
    )
    for one in (learner, same):
        one.learn(late, 5.0)  # the reward of a removed arm is learned
    assert regression_of(learner) == regression_of(same)
    assert th.Learner.load(learner.to_bytes()).choose(visitors(1)[0]) == learner.choose(
        visitors(1)[0]
    )


@pytest.mark.parametrize("forgetting", [None, 50])
@pytest.mark.parametrize("kind", ["disjoint", "product"])
def test_a_file_has_all_that_matters_when_arms_come_and_go(kind, forgetting):
    known = disjoint("red", "blue") if kind == "disjoint" else product()
    rows = {} if kind == "disjoint" else {"features": {"price": 0.1, "size": 0.1}}
    pair = Pair(th.LinTS(forgetting=forgetting).learner(features=known, seed=0))
    for n, visitor in enumerate(visitors(60)):
        decision = pair("choose", visitor)
        if n % 3:
            pair("learn", decision, float(n % 5))
        if n % 10 == 4:
            pair("add_arm", f"arm {n}", *rows.values())
        if n % 10 == 8:
            pair("remove_arm", pair.kept.sets.features.arms[n % 2])


@pytest.mark.parametrize("policy", ["thrifty", "lints", "vids"])
def test_a_change_of_arms_can_be_undone_with_the_decisions_around_it(policy):
    learner = th.policy(policy).learner(features=disjoint("red", "blue"), seed=0)
    visitor, same = visitors(1)[0], []
    learner.choose(visitor)
    before = learner.to_bytes()
    for _ in range(2):
        mark = learner.mark()
        decisions = [learner.choose(visitor)]
        learner.add_arm("green")
        decisions += [learner.choose(visitor) for _ in range(3)]
        learner.rewind(mark)
        same.append(decisions)
        assert learner.to_bytes() == before
    assert same[0] == same[1]


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        (disjoint, lambda one: one.add_arm("red"), "'red' is an arm already"),
        (
            disjoint,
            lambda one: one.add_arm("x", {"price": 1}),
            "^features: not used: arms of a dis",
        ),
        (disjoint, lambda one: one.add_arm(7), r"^arms\[2\]: a string expected, got 7"),
        (disjoint, lambda one: one.add_arm(), r"^arms\[2\]: a string expected, got None"),
        (disjoint, lambda one: one.add_arm("x", name="y"), "^add_arm: an arm of a feature map has"),
        (
            disjoint,
            lambda one: one.remove_arm("x", "y"),
            "^remove_arm: an arm of a feature map has",
        ),
        (disjoint, lambda one: one.remove_arm("rad"), "unknown arm 'rad'; did you mean 'red'"),
        (disjoint, lambda one: one.remove_arm(2), "^arm: a name, or an index below 2 expected"),
        (
            product,
            lambda one: one.add_arm("x"),
            "^features: pass the row of the new arm, with price",
        ),
        (product, lambda one: one.add_arm("x", {"price": 1}), "^features: .* got missing size$"),
        (
            product,
            lambda one: one.add_arm("x", [1]),
            r"^features: rows of 2 values \(price, size\)",
        ),
        (
            product,
            lambda one: one.add_arm("x", {"price": 1, "size": "big"}),
            r"^features\['size'\]: a number expected, got 'big'",
        ),
        (
            product,
            lambda one: one.add_arm("x", {"price": None, "size": 1}),
            r"^features\['price'\]: missing \(None\): pass a number$",
        ),
        (
            product,
            lambda one: one.add_arm("x", [[1, 2], [3, 4]]),
            "^features: one row expected, of",
        ),
        (product, lambda one: one.add_arm("red", [1, 2]), "^arm: 'red' is an arm already"),
    ],
)
def test_mistakes_change_nothing(make, change, message):
    learner = th.Greedy().learner(features=make("red", "blue") if make is disjoint else make())
    learner.choose(visitors(1)[0])
    before = learner.to_bytes()
    with pytest.raises(th.ThriftyError, match=message):
        change(learner)
    assert learner.to_bytes() == before


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (disjoint("red"), "^arm: 'red' is the last one: add another one first"),
        (th.features.product({"red": {"price": 1}}, ["x"]), "^arm: 'red' is the last one"),
        (th.features.shared(["x"]), "^features: a shared map has no arms: they come with each dec"),
    ],
)
def test_maps_without_an_arm_to_remove(features, message):
    with pytest.raises(th.InvalidInput, match=message):
        th.Greedy().learner(features=features).remove_arm("red")


def test_other_learners_say_what_they_need():
    with pytest.raises(th.InvalidInput, match="contexts are open: pass what is on offer to choose"):
        th.Greedy().learner(dimension=2).add_arm("red")
    listed = th.Greedy().learner(th.ActionSets([[[1, 0], [0, 1]]]))
    with pytest.raises(th.InvalidInput, match=r"^add_arm: pass the context and the features"):
        listed.add_arm("red")
    with pytest.raises(th.InvalidInput, match=r"^remove_arm: pass the context and the arm"):
        listed.remove_arm("0")
