"""Sentences with measured numbers: each follows from benchmarks/RESULTS.md or from the arena."""

import re
from pathlib import Path

import pytest

from thrifty.lab.arena.standings import LEADERS
from thrifty.lab.paper.panels import EXPERIMENTS
from thrifty.policies.oam import OAM
from thrifty.report.wording import power

ROOT = Path(__file__).parent.parent
RESULTS = (ROOT / "benchmarks" / "RESULTS.md").read_text()


def words(path):
    """The text of a page on one line."""
    return " ".join((ROOT / path).read_text().split())


def section_of(text, title):
    """A section of a page."""
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def column(section, header, where=""):
    """The numbers of a column in all tables of a section of RESULTS.md; of rows with a text."""
    text = section_of(RESULTS, section)
    found, place = [], None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if header in cells:
            place = cells.index(header)
        elif not line.startswith("|"):
            place = None
        elif place is not None and where in line and re.search(r"\d", cells[place]):
            found.append(float(re.sub(r"[*,]", "", cells[place]).split(" ±")[0]))
    assert found, f"RESULTS.md: no column {header} in {section}"
    return found


def between(values, digits):
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def test_the_time_to_compile():
    seconds = between(column("Start-up", "first on a machine, s"), 0)
    assert f"compiles for this machine, {seconds} seconds for each part" in words("README.md")


def test_the_time_of_large_allocations():
    large, huge = "| 100,000 | 50 |", "| 1,000,000 | 20 |"
    section = "Growth with the number of arms"
    [seconds], [passes] = column(section, "seconds", large), column(section, "passes", large)
    [longer], [memory] = (
        column(section, header, huge) for header in ("seconds", "peak memory, GiB")
    )
    readme = words("README.md")
    assert f"100,000 arms in 50 dimensions take {seconds:.0f} seconds" in readme
    assert f"about {round(passes, -1):.0f} passes" in readme
    assert f"20 dimensions take {longer:.0f} seconds, within {memory:.1f} GiB" in readme


def test_rates_relative_to_linucb():
    oam, own = (
        between(column("Rounds per second", "share", f"| {name} |"), 2)
        for name in ("oam", "thrifty")
    )
    assert f"OAM plays at {oam}, and `thrifty` at {own}, of that rate" in words("README.md")


def test_the_time_of_a_decision():
    section = "Against released libraries at K = 3, d = 2"
    learner = between(
        column("Rounds per second", "µs") + column(section, "thrifty's learner, µs"), 0
    )
    assert f"through the learner take {learner} µs" in words("README.md")
    assert f"A choice and its reward take {learner} microseconds" in words("docs/learner.md")


def test_what_oams_defaults_were_chosen_by():
    def relative(policy):
        return column("OAM's knobs", "mean regret, relative to lints", f"| {policy} |")

    defaults, closer = relative("oam"), relative("oam:c=1")
    assert len(defaults) == len(closer) == 2  # n = 1e4 and 1e5
    text = " ".join(OAM.__doc__.split())
    assert {f"{ratio:.1f}" for ratio in defaults} == {
        re.search(r"\(.*?\): ([\d.]+) times", text)[1]
    }
    assert f"c = 1, closer to the theory, has {' and '.join(f'{x:.1f}' for x in closer)}" in text


def test_the_size_of_a_full_reproduction():
    text = words("docs/studies.md")
    sizes = [experiment.full.replications for experiment in EXPERIMENTS]
    longest = max(max(experiment.full.horizons) for experiment in EXPERIMENTS)
    assert f"`--full` has {min(sizes):,} to {max(sizes):,} replications" in text
    assert f"horizons up to {power(longest)}" in text
    in_short = f"{min(sizes):,} to {max(sizes):,} replications, horizons up to {power(longest)};"
    assert in_short in words("src/thrifty/cli/studies.py")


def documented(path, first):
    """The lines of the table on a page whose header starts with some text."""
    lines = (ROOT / path).read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(first))
    return lines[start : start + next(i for i, line in enumerate(lines[start:]) if not line)]


@pytest.mark.parametrize("page", ["README.md", "docs/thrifty.md"])
def test_the_arena_is_quoted(page):
    header = f"| n | {LEADERS[0]}, relative regret |"
    table = documented("docs/arena.md", header)
    assert documented(page, header) == table, f"copy the first table of docs/arena.md to {page}"
    assert len(table) > 3


def test_when_forgetting_pays():
    def relative(memory, theta, policy="thrifty"):
        section = "Forgetting where theta moves"
        return column(section, memory, f"| {theta} | `{policy}` |")[0]

    text = words("docs/guide.md")
    costs = [relative(memory, "stays") for memory in ("10,000", "1,000", "100")]
    assert (
        "`thrifty` has {:.1f} times the regret with a memory of 10,000, {:.1f} times with 1,000 "
        "and {:.0f} times with 100".format(*costs)
    ) in text
    stuck = relative("3,000", "stays", "linucb:width=alpha")
    assert f"`linucb:width=alpha` is an exception, with {stuck:.2f} at 3,000" in text
    turning, jumping = "a circle in 30,000 rounds", "anew every 10,000 rounds"
    assert f"1,000 leaves {relative('1,000', turning):.3f} of the regret of `thrifty`" in text
    assert f"every 10,000 rounds, {relative('1,000', jumping):.2f}." in text
    assert f"those 10,000 rounds leaves {relative('10,000', jumping):.2f}." in text


@pytest.mark.parametrize("policy", ["thrifty", "lints"])
def test_a_memory_of_a_thirtieth_of_the_time_is_nearly_the_best(policy):
    nearest = {
        "a circle in 300,000 rounds": "10,000",
        "a circle in 30,000 rounds": "1,000",
        "a circle in 3,000 rounds": "100",
        "anew every 10,000 rounds": "300",
        "anew every 1,000 rounds": "100",
    }
    for theta, memory in nearest.items():
        found = {
            other: column("Forgetting where theta moves", other, f"| {theta} | `{policy}` |")[0]
            for other in ("100", "300", "1,000", "3,000", "10,000")
        }
        assert found[memory] <= 1.05 * min(found.values())


def test_what_stale_posteriors_cost():
    """Of thrifty and lints; linucb is named apart."""
    section, page = "Stale posteriors", words("docs/scale.md")

    def of(k, kinds, policies=("thrifty", "lints")):
        wanted = [f"| {kind} | `{policy}" for kind in kinds for policy in policies]
        return [one for where in wanted for one in column(section, k, where)]

    lags, share = ("late", "snapshots"), ["snapshots, often at first"]
    assert f"that could be measured ({between(of('10', lags), 2)})" in page
    assert f"k = 100 costs {between(of('100', lags), 2)} times the regret" in page
    assert f"k = 1,000 already {between(of('1,000', lags), 1)} times" in page
    found = [one for k in ("10", "100", "1,000", "10,000") for one in of(k, share)]
    assert f"`thrifty` and `lints` have {between(found, 2)} times the regret" in page
    [few], [many] = (of(k, share, ["linucb"]) for k in ("100", "10,000"))
    assert f"{few:.2f} times the regret at k = 100 and {many:.1f} times at k = 10,000" in page


def test_errors_on_real_data():
    sets = ("wine (178, 13, 3)", "breast cancer (569, 30, 2)", "digits (1,797, 64, 10)")

    def of(policy):
        return [column("Errors on real data", name, f"| {policy} |")[0] for name in sets]

    own, page = of("`thrifty`"), words("docs/thrifty.md")
    to_best = between(of("thrifty / the best rival"), 2)
    assert f"contexts are open: {to_best} times those of the best rival" in page
    for rival in ("`vids`", "`linucb:width=alpha,alpha=1`"):
        assert all(mine > other for mine, other in zip(own, of(rival), strict=True))


def test_slopes_of_thrifty():
    text = words("docs/thrifty.md")
    for ratio in column("Growth of thrifty's regret with log n", "slope / C"):
        assert f"{ratio:g} ±" in text


def test_slopes_of_thrifty_are_below_c():
    assert "its slope is clearly below C on all four instances" in words("docs/thrifty.md")
    page = words("docs/reproduction.md")
    found = page.partition("**The regret of thrifty does not grow more slowly")[2]
    cases, _, _ = found.partition("A slope clearly below C")
    assert (cases.count("- ✗ on "), cases.count("- ")) == (4, 4)


def test_the_frontier():
    text = words("docs/thrifty.md")

    def of(policy, header):
        return f"{column('Mean against tail', header, f'| `{policy}` |')[0]:g}"

    mean, tail = "relative regret", "CVaR"
    ours, first, vids = "thrifty", "first edition", "vids:samples=50,draws=anew"
    narrow, wide = "linucb:width=alpha", "linucb:width=alpha,alpha=3"
    assert f"those of Thompson sampling ({of(ours, tail)} ±" in text
    assert f"for {of(ours, mean)} of its mean regret" in text
    assert f"told the noise, had {of(first, mean)} with {of(first, tail)}." in text
    assert f"V-IDS has {of(vids, mean)} with {of(vids, tail)}." in text
    assert f"`linucb` has {of(wide, mean)} with {of(wide, tail)} if alpha is 3" in text
    assert f"but {of(narrow, mean)} with {of(narrow, tail)} if it is 1" in text
    assert f"and {of(narrow, 'on its worst instance')} on its worst instance" in text


def test_what_was_aimed_at():
    section, page = "What thrifty was to reach", words("docs/thrifty.md")
    lines = section_of(RESULTS, section).splitlines()
    table = [line.strip("|").split("|") for line in lines if line.startswith("|")]
    shown = [table[0].index(f" {name} ") for name in documented_columns()]
    assert [[row[i] for i in shown] for row in table[2:]] == [
        line.strip("|").split("|") for line in documented("docs/thrifty.md", "| n | draw |")[2:]
    ]
    own, lints = (
        column(section, header, "| 1e4 | second |") for header in ("regret there", "of lints")
    )
    assert f"`thrifty` pays {own[0]:g} and Thompson sampling {lints[0]:g}, in all" in page
    others = [
        value
        for n in ("1e4", "1e5")
        for value in (
            *column(section, "on its worst instance", f"| {n} | first |"),
            *column(section, "on the next worst", f"| {n} | second |"),
        )
    ]
    assert f"On the other 23 instances it is at most {max(others):.1f} at n = 1e4 and 1e5" in page


def test_other_kinds_and_rivals():
    """Of the arena: its tables by horizon, in the words of docs/thrifty.md."""
    text, page = (ROOT / "docs" / "arena.md").read_text(), words("docs/thrifty.md")

    def cells(group, n, policy):
        section = section_of(text, f"{group}: n = {n}")
        header, *rows = (line.split(" | ") for line in section.splitlines() if "|" in line)
        [row] = [row for row in rows if len(row) > 1 and row[1] == policy]
        return dict(zip(header, row, strict=True))

    def short(cell, errors=0):
        return " ± ".join(cell.split(" ± ")[: 1 + errors])

    kinds, vids = "Other kinds of instances and rewards", "vids:samples=50,draws=anew"
    own = {n: cells(kinds, n, "thrifty") for n in ("1e3", "1e4", "1e5")}
    mean = "relative regret"
    ratios = between([float(short(one[mean])) for one in own.values()], 2)
    assert f"On other families it has {ratios}. " in words("README.md")
    assert f"`thrifty` has {short(own['1e3'][mean])} of the regret" in page
    assert f"at n = 1e3, {short(own['1e4'][mean])} at 1e4 and {short(own['1e5'][mean], 1)}" in page
    assert f"where V-IDS has {short(cells(kinds, '1e5', vids)[mean])}, " in page
    assert f"and a CVaR of {own['1e5']['CVaR']}: " in page
    assert "student" in own["1e5"]["on"]
    assert f"where it has {own['1e5']['worst']} times the regret" in page
    linucb = cells("Instances never used for tuning", "1e6", "linucb:width=alpha,alpha=2")
    assert f"but {short(linucb['worst'])} times that of Thompson sampling" in page


def documented_columns():
    header = documented("docs/thrifty.md", "| n | draw |")[0]
    return [name.strip() for name in header.strip("|").split("|")]


def test_what_the_plan_of_the_first_edition_was_worth():
    text, section = words("docs/thrifty.md"), "The plan of thrifty's first edition"
    for difference, whole in zip(
        column(section, "difference"), column(section, "with a plan"), strict=True
    ):
        assert re.search(rf"{difference:g} ± [\d.]+ of {whole:g}\b", text)
