"""Pages: self-contained, well-formed, complete; names are escaped."""

import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import thrifty as th
from thrifty.report.html import html, write_html
from thrifty.report.markdown import markdown, write_markdown
from thrifty.report.pages import Page, Section, Statement, Table, study_page
from thrifty.report.wording import listing, plain, power, with_error, with_errors

VOID = {"meta", "br", "img", "path", "use", "rect"}


class Structure(HTMLParser):
    """Checks that elements close in order, and collects ids, links and words."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.words = [], [], [], []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [value for key, value in attributes if key in ("href", "src", "xlink:href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


STRANGE = "<b>bold</b> & co | pipe $\\frac$ \n"  # markup, columns, mathematics, a line break


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("my study")
    (folder / "study.toml").write_text("")
    return folder


@pytest.fixture(scope="module")
def page(kept):
    strange = th.Instance(th.instance("fixed-u0.1").sets, theta=[1, 0], name=STRANGE)
    study = th.run([strange, "bounded"], ["oam", "lints"], horizon=[100, 1000], replications=4)
    return study_page(study.results, kept)


def parsed(page):
    structure = Structure()
    structure.feed(html(page))
    return structure


@pytest.mark.slow
def test_html_is_well_formed_and_needs_nothing_else(page):
    structure = parsed(page)
    assert structure.open == []
    assert all(link.startswith("#") for link in structure.links)
    assert len(structure.ids) == len(set(structure.ids))
    assert "<b>bold</b> & co | pipe $\\frac$ \\n" in structure.words
    assert "http" not in re.sub(r'xmlns(:xlink)?="[^"]*"', "", html(page))


@pytest.mark.slow
def test_every_result_has_a_row_and_every_section_its_figures(page, kept):
    words = " ".join(parsed(page).words)
    for result in page.sections[0].results:
        assert plain(result.mean, 4) in words
        assert plain(result.max, 4) in words
    assert html(page).count("<svg") == 2 * 3 + 2  # regret, ratio, tail by instance; oam's labels
    assert f"thrifty run --study '{kept}/study.toml' --out '{kept}'" in words


@pytest.mark.slow
def test_colours_follow_the_page(page):
    text = html(page)
    assert "currentColor" in text
    assert "#010203" not in text
    assert "prefers-color-scheme: dark" in text


@pytest.mark.slow
def test_files(page, tmp_path):
    path = write_html(page, tmp_path)
    assert path.read_text() == html(page)
    names = {picture.name for section in page.sections for picture in section.pictures}
    assert {file.name for file in (tmp_path / "figures").iterdir()} == {
        f"{name}.{kind}" for name in names for kind in ("svg", "png")
    }
    write_markdown(page, tmp_path / "docs" / "page.md")
    text = (tmp_path / "docs" / "page.md").read_text()
    assert text == markdown(page)
    for target in re.findall(r"\]\((figures/[^)]*)\)", text):
        assert (tmp_path / "docs" / target).exists()
    numbers = json.loads((tmp_path / "docs" / "page.numbers.json").read_text())
    assert [entry["mean"] for entry in numbers] == [
        result.mean for result in page.sections[0].results
    ]


def test_markdown_tables_keep_their_columns(page):
    rows = [line for line in markdown(page).splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1


def test_statements_are_linked_marked_and_explained():
    statement = Statement(
        name="a<b",
        section="main",
        text="a < b.",
        where="Section 1",
        mark="◐",
        tone="half",
        words="holds for c",
        cases=Table(("set", "verdict"), (("c", "✓ 1 < 2"), ("d", "✗ 3 > 2")), words=2),
        remark="A remark.",
    )
    page = Page(
        "Title",
        ("First.", "Second."),
        (Section("main", "The main part", statements=(statement,)),),
        (statement,),
        "Claims",
    )
    structure = parsed(page)
    assert structure.links == ["#a<b"]
    assert "a<b" in structure.ids
    words = " ".join(structure.words)
    for text in ("First.", "Second.", "Claims", "◐ holds for c", "✗ 3 > 2", "A remark."):
        assert text in words
    assert 'class="status half"' in html(page)
    text = markdown(page)
    assert "| [a < b.](#the-main-part) | Section 1 | ◐ holds for c |" in text
    cases = "| set | verdict |\n|---|---|\n| c | ✓ 1 &lt; 2 |\n| d | ✗ 3 &gt; 2 |"
    assert f"**a < b.** ◐ holds for c.\n\n{cases}\n\nA remark." in text


def test_wide_tables_scroll_and_show_it(page):
    text = html(page)
    assert text.count("<table") == text.count('<div class="scroll"')
    style = text.partition(".scroll {")[2].partition("}")[0]
    assert "overflow-x: auto" in style
    assert "local, local, scroll, scroll" in style
    assert text.count("--shade:") == 2  # light and dark


@pytest.mark.parametrize(
    ("items", "text"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_listings(items, text):
    assert listing(items) == text


@pytest.mark.parametrize(
    ("number", "text"), [(100, "100"), (1000, "1e3"), (1234, "1,234"), (10**8, "1e8")]
)
def test_powers_of_ten(number, text):
    assert power(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (1234.5, "1,234"), (0.01234, "0.01234"), (3.3e5, "330,000"), (1e-7, "1e-07")],
)
def test_plain_numbers(number, text):
    assert plain(number, 4) == text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("[x](javascript:alert(1))", r"| \[x\](javascript:alert(1)) |"),
        ("![x](http://a.b/c.png)", r"| !\[x\](http&#58;//a.b/c.png) |"),
        ("<script>*_`~$", r"| &lt;script&gt;\*\_\`\~\$ |"),
        ("a\\|b\nwww.c", r"| a\\\|b\\nwww&#46;c |"),
    ],
)
def test_names_are_text_in_markdown(name, shown):
    problem = th.Instance(th.instance("fixed-u0.1").sets, theta=[1, 0], name=name)
    results = th.run(problem, "greedy", horizon=10, replications=2).results
    assert shown in markdown(study_page(results, Path("nowhere")))


def test_code_in_markdown_ends_where_it_ends():
    page = Page("T", (), (Section("s", "S", rerun="thrifty report 'a``b'"),))
    assert "To run it again: ``` thrifty report 'a``b' ```" in markdown(page)


def test_markdown_over_a_device_is_refused_before_anything_is_written(page, tmp_path):
    (tmp_path / "null").symlink_to("/dev/null")
    with pytest.raises(th.BadFile, match=r"null: cannot be written: .* not a file"):
        write_markdown(page, tmp_path / "null")
    assert [path.name for path in tmp_path.iterdir()] == ["null"]


def test_a_number_with_two_standard_errors():
    assert with_error(103_400.0, 1.6e-12, 4) == "103,400 ± 0"
    assert with_error(0.0, 1e-13) == "0 ± 1e-13"
    assert with_errors(0.8254, 0.0341, 0.05) == "0.825 ± 0.034 ± 0.05"
    assert with_errors(1.0, math.nan, 0.1) == "1 ± - ± 0.1"
