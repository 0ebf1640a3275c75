"""Figures show the numbers of the results; each policy has a fixed colour."""

import numpy as np
import pytest

import thrifty as th
from thrifty.report.drawing import COLOURS, INK, style_of, svg
from thrifty.report.figures import (
    horizons_figure,
    labels_figure,
    longest,
    ratio_figure,
    regret_figure,
    sensitivity_figure,
    tail_figure,
)


@pytest.fixture(scope="module")
def results():
    return th.run(
        ["fixed-u0.1", "bounded"],
        ["oam", "linucb", "linucb:width=fn"],
        horizon=[100, 1000],
        replications=5,
    ).results


def lines(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def test_regret_is_the_mean_at_the_longest_horizon_and_dots_mark_the_others(results):
    figure = regret_figure(results)
    first, second = figure.axes
    drawn = lines(first)["oam"]
    chosen = longest(results)[0]
    assert np.allclose(drawn.get_ydata(), chosen.curves.mean(axis=0))
    assert drawn.get_xdata()[-1] == 1000
    assert len(first.containers) == 3  # a dot with its error for each policy at n = 100
    assert "C log n" in lines(first)
    assert "C log n" not in lines(second)  # C = 0
    bands = [band for band in first.collections if band.get_alpha() == 0.25]
    edges = bands[0].get_paths()[0].vertices
    mean, error = chosen.curves.mean(axis=0), chosen.curves.std(axis=0, ddof=1) / np.sqrt(5)
    last = edges[edges[:, 0] == 1000, 1]
    assert last.max() == pytest.approx(mean[-1] + error[-1])
    assert last.min() == pytest.approx(mean[-1] - error[-1])


def test_a_policy_has_the_same_colour_in_every_figure():
    alone, among = (
        style_of("linucb", ["linucb"]),
        style_of("linucb", ["oam", "mine", "linucb:width=fn", "linucb"]),
    )
    assert alone == among == {"color": COLOURS["linucb"], "linestyle": "-"}
    variant = style_of("linucb:width=fn", ["linucb", "linucb:width=fn"])
    assert variant["color"] == COLOURS["linucb"]
    assert variant["linestyle"] != "-"
    assert style_of("mine", ["mine", "oam"])["color"] not in COLOURS.values()


def test_the_ratio_is_regret_over_log_n(results):
    first = ratio_figure(results).axes[0]
    [line] = [
        container.lines[0] for container in first.containers if container.get_label() == "linucb"
    ]
    expected = [
        result.mean / np.log(result.horizon)
        for result in results
        if (result.instance.name, result.policy) == ("fixed-u0.1", "linucb")
    ]
    assert np.allclose(line.get_ydata(), expected)
    assert lines(first)["C"].get_ydata()[0] == pytest.approx(20)


def test_labels_are_stacked_to_the_whole(results):
    own = [result for result in longest(results) if result.policy == "oam"]
    figure = labels_figure(own)
    top = figure.axes[0].collections[-1].get_paths()[0].vertices[:, 1].max()
    assert top == pytest.approx(own[0].mean)


def test_the_tail_and_the_sensitivity_have_a_row_for_each_policy(results):
    for draw in (tail_figure, sensitivity_figure):
        for axes in draw(results).axes:
            assert [label.get_text() for label in axes.get_yticklabels()] == [
                "linucb:width=fn",
                "linucb",
                "oam",
            ]
    worst = [
        line.get_xdata()
        for line in tail_figure(results).axes[0].get_lines()
        if line.get_marker() == "x" and len(line.get_xdata())
    ]
    assert sorted(float(x[0]) for x in worst) == sorted(
        result.max for result in longest(results) if result.instance.name == "fixed-u0.1"
    )


def test_the_sensitivity_shows_two_standard_errors(results):
    first = sensitivity_figure(results).axes[0]
    own = [result for result in longest(results) if result.instance.name == "fixed-u0.1"]
    for container, result in zip(first.containers, reversed(own), strict=True):
        [[start, end]] = container.lines[2][0].get_segments()
        assert start[0] == pytest.approx(result.mean - 2 * result.se)
        assert end[0] == pytest.approx(result.mean + 2 * result.se)


def test_the_same_figure_is_the_same_text(results):
    one, other = svg(regret_figure(results), "regret"), svg(regret_figure(results), "regret")
    assert one == other
    assert INK in one
    # names make the ids of two figures on one page differ
    assert one != svg(regret_figure(results), "another")


def test_horizons_shows_the_mean_at_each_horizon_and_policies_in_front_thicker(results):
    first = horizons_figure(results, front=("oam",)).axes[0]
    oam, linucb, _ = first.get_lines()
    expected = [
        result.mean
        for result in results
        if (result.instance.name, result.policy) == ("fixed-u0.1", "oam")
    ]
    assert np.allclose(oam.get_ydata(), expected)
    assert oam.get_linewidth() > linucb.get_linewidth()
