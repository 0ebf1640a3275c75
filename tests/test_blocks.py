"""Generated blocks of the documentation: what is stale is found and written again."""

import pytest
from benchmarks import blocks
from benchmarks.blocks import Cells, look_up, renewed

DRIFT = "Forgetting where theta moves"


def test_the_blocks_of_the_documentation_are_those_of_the_results():
    with pytest.raises(SystemExit) as caught:
        blocks.main(check=True)
    assert caught.value.code is None, caught.value.code


def test_a_stale_block_is_named_with_its_line_and_written_again(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    page = tmp_path / "README.md"
    text = "# Title\n\n<!-- generated: parameters greedy -->\n| old |\n<!-- end -->\n\nText.\n"
    page.write_text(text)
    monkeypatch.setattr(blocks, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match=r"README.md:4: stale: python -m benchmarks.blocks"):
        blocks.main(check=True)
    assert page.read_text() == text
    with pytest.raises(SystemExit):
        blocks.main()
    assert "| `ridge` | `none` |" in page.read_text()
    assert page.read_text().startswith("# Title\n\n<!-- generated: parameters greedy -->\n| par")
    assert page.read_text().endswith("|\n<!-- end -->\n\nText.\n")
    assert renewed(page.read_text()) == page.read_text()


def test_a_number_that_is_not_there_is_named():
    with pytest.raises(SystemExit, match="no 'seconds' in a row"):
        look_up(DRIFT, "seconds")
    with pytest.raises(SystemExit, match="no tables in a section 'Nothing'"):
        look_up("Nothing", "seconds")


def test_how_numbers_are_shown():
    cells = Cells(["1,000 ± 2", "0.25", "3 ± 1 (7)"])
    assert f"{cells:,.2f}" == "0.25 to 1,000.00"
    assert f"{Cells(['2']):.0f}" == "2"
    assert f"{Cells(['2 ± 0.1 ± 0.3'])} {Cells(['2 ± 0.1 ± 0.3']):±}" == "2 ± 0.1 ± 0.3 2 ± 0.1"
    with pytest.raises(ValueError, match="unpack"):
        f"{cells}"


# statements without numbers in the sentences of docs/blocks.toml


@pytest.mark.parametrize("policy", ["thrifty", "lints"])
@pytest.mark.parametrize(
    ("theta", "memory"),
    [
        ("a circle in 300,000 rounds", "10,000"),
        ("a circle in 30,000 rounds", "1,000"),
        ("a circle in 3,000 rounds", "100"),
        ("anew every 10,000 rounds", "300"),
        ("anew every 1,000 rounds", "100"),
    ],
)
def test_a_memory_of_a_thirtieth_of_the_time_is_nearly_the_best(policy, theta, memory):
    regret = {
        other: float(f"{look_up(DRIFT, other, [[theta], [policy]]):g}")
        for other in ("100", "300", "1,000", "3,000", "10,000")
    }
    assert regret[memory] <= 1.05 * min(regret.values())


@pytest.mark.parametrize("rival", ["vids", "linucb:width=alpha,alpha=1"])
@pytest.mark.parametrize(
    "data", ["wine (178, 13, 3)", "breast cancer (569, 30, 2)", "digits (1,797, 64, 10)"]
)
def test_these_rivals_have_less_errors_on_real_data(rival, data):
    ours, theirs = (
        float(f"{look_up('Errors on real data', data, [[policy]]):g}")
        for policy in ("thrifty", rival)
    )
    assert ours > theirs
