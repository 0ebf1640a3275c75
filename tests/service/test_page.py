"""The page of the service, driven in Chromium."""

import json
import re
import shlex
import urllib.request
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser import launch
from tests.service.page_server import HOSTILE, Canned, decision, experiment, make_app, rich, serving
from thrifty.service.server.page_files import FOLDER
from thrifty.service.server.schemas import Bucket, DecisionRequest, NewExperiment, RewardRequest

pytestmark = pytest.mark.browser
SPACE, MINUS, NONE = "\u202f", "\u2212", "\u2013"
SHOP = "#/experiments/shop%20front"
VIEWS = {
    "overview": "#/",
    "listed": SHOP,
    "open": "#/experiments/pricing",
    "wide": "#/experiments/wide-" + "x" * 60,
    "hostile": "#/experiments/" + quote(HOSTILE, safe=""),
}
# the least contrast of a visible text with what is behind it, and that text
LEAST_CONTRAST = """() => {
  const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = (colour) => {
    const linear = parse(colour).slice(0, 3).map((value) => value / 255)
      .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (parse(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let least = [Infinity, ""];
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const colour = element.namespaceURI.endsWith("svg") ? style.fill : style.color;
    const [low, high] = [luminance(colour), luminance(behind(element))].sort((a, b) => a - b);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < least[0]) least = [contrast, texts.currentNode.data];
  }
  return least;
}"""


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture
def service():
    """A running service: its address, and what it answers."""
    canned = rich()
    with serving(make_app(canned)) as url:
        yield SimpleNamespace(url=url, canned=canned)


@pytest.fixture
def visit(browser, service):
    """Opens a view. At the end, no request has left the server, and no error was written.

    A test that provokes errors empties `visit.errors`.
    """
    contexts, requests, errors = [], [], []

    def opened(view="#/", **options):
        options = {"viewport": {"width": 1280, "height": 900}, "timezone_id": "UTC", **options}
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda line: line.type == "error" and errors.append(line.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(service.url + view)
        return page

    opened.requests, opened.errors = requests, errors
    yield opened
    for context in contexts:
        context.close()
    assert errors == []
    assert [url for url in requests if not url.startswith((service.url, "blob:"))] == []


def shown(page, view):
    """Waits for a view of `VIEWS`, and opens whatever can be opened."""
    page.wait_for_selector("#view :is(table, section)")
    for toggle in page.locator(".toggle").all()[:2]:
        toggle.click()
    for summary in page.locator("summary").all():
        summary.click()
    return page


def test_the_overview_has_a_line_for_each_experiment(visit):
    lines = visit().locator(".experiments tbody tr")
    expect(lines).to_have_count(4)
    assert [line.locator(".badge").inner_text() for line in lines.all()] == [
        "active", "active", "paused", "archived",
    ]  # fmt: skip
    cells = lines.nth(0).locator("td").all_inner_texts()
    assert lines.nth(0).locator("a").inner_text() == "shop front"
    assert [cell.replace(SPACE, " ") for cell in cells][:5] == [
        "30 000", "500", "0.656", "2.33 %", "83.9",
    ]  # fmt: skip
    assert re.sub(r"\s+", " ", cells[5]) == "8.39 in the next 30 000"


def test_a_link_leads_to_the_experiment_and_back(visit):
    page = visit()
    page.get_by_role("link", name="pricing").click()
    expect(page.locator("h1")).to_have_text("pricing")
    assert page.title() == "pricing · thrifty"
    page.get_by_role("link", name="all experiments").click()
    expect(page.locator("h1")).to_have_text("Experiments")


def test_without_experiments_the_page_says_how_to_make_one(visit, service):
    service.canned.experiments.clear()
    page = visit()
    page.wait_for_selector("pre")
    lines = [shlex.split(text) for text in page.locator("pre").all_inner_texts()]
    urls = [f"{service.url}v1/experiments{end}" for end in ("", "/shop/decisions", "/shop/rewards")]
    assert [line[:2] for line in lines] == [["curl", url] for url in urls]
    made, decided, rewarded = (json.loads(line[-1]) for line in lines)
    assert NewExperiment(**made).name == "shop"
    assert DecisionRequest(**decided).context == made["contexts"][0]["name"]
    assert RewardRequest(**rewarded).decision == decided["id"]


def test_an_experiment_says_what_exploration_has_cost_and_will_cost(visit):
    sentence = visit(SHOP).locator("p.cost").inner_text().replace(SPACE, " ")
    assert sentence == (
        "So far 699 of 30 000 decisions (2.33 %) went to an arm other than the one that looked "
        "best. That gave up about 83.9 of reward, 0.434 % of the reward received. "
        "Over the next 30 000 decisions about 8.39 more is expected."
    )


def test_an_experiment_shows_its_settings(visit):
    settings = visit(SHOP).locator(".settings").inner_text().splitlines()
    for name, value in {
        "noise": "0.431, as estimated so far",
        "late rewards": "learned as 0 after 24 hours",
        "contexts": "2 contexts, 3 features",
    }.items():
        assert settings[settings.index(name) + 1] == value


def test_an_experiment_without_decisions_has_no_charts(visit, service):
    service.canned.add(experiment("fresh", arms=[], contexts=["a"], buckets=[]))
    page = visit("#/experiments/fresh")
    expect(page.locator("h1")).to_have_text("fresh")
    assert page.locator(".chart").count() == 0
    assert page.get_by_text("There is no decision yet.").count() == 2


def test_charts_have_a_table_of_the_same_numbers(visit, service):
    page = visit(SHOP)
    page.locator("summary").click()
    rows = page.locator("details tbody tr")
    history = service.canned.experiments["shop front"].history
    expect(rows).to_have_count(len(history))
    cells = rows.nth(0).locator("th, td").all_inner_texts()
    first = history[0]
    assert cells[0] == "9 Oct 2025, 08:53"
    assert [float(cell.strip(f" %{SPACE}")) for cell in cells[1:]] == pytest.approx(
        [first.decisions, first.reward_sum / first.rewards, 100 * first.explored / first.decisions,
         first.cost], rel=5e-3,
    )  # fmt: skip
    assert rows.nth(40).locator("td").nth(1).inner_text() == NONE  # no reward yet
    assert page.locator(".chart.reward path").count() == 2  # a gap in the line


def test_charts_are_read_out_by_mouse_and_by_keyboard(visit):
    page = visit(SHOP)
    svg, words = page.locator(".chart.share svg"), page.locator(".chart.share .readout")
    expect(words).to_contain_text("14 Oct 2025, 07:53: 0.400")
    box = svg.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 60 / 380, box["y"] + box["height"] / 2)
    expect(words).to_contain_text("9 Oct 2025, 08:53: 50.0")
    page.mouse.move(0, 0)
    expect(words).to_contain_text("14 Oct 2025, 07:53: 0.400")
    page.locator(".chart.reward svg").focus()
    page.keyboard.press("Tab")
    expect(svg).to_be_focused()
    for key, start in (("Home", "9 Oct 2025, 08:53"), ("ArrowRight", "9 Oct 2025, 09:53")):
        page.keyboard.press(key)
        expect(words).to_contain_text(start)
        expect(svg).to_have_attribute("aria-valuetext", words.inner_text())


def test_a_tap_reads_out_a_chart(visit):
    page = visit(SHOP, has_touch=True, viewport={"width": 360, "height": 800})
    svg = page.locator(".chart.reward svg")
    box = svg.bounding_box()
    svg.tap(position={"x": box["width"] * 60 / 380, "y": 40})
    expect(page.locator(".chart.reward .readout")).to_contain_text("9 Oct 2025, 08:53")


def test_a_single_bucket_and_equal_values_can_be_drawn(visit, service):
    bucket = Bucket(
        start="2025-10-09T08:53:20Z", decisions=5, explored=0, cost=0, rewards=5, reward_sum=0
    )
    service.canned.add(experiment("short", arms=[], contexts=["a"], buckets=[bucket]))
    page = visit("#/experiments/short")
    expect(page.locator(".chart")).to_have_count(3)
    assert "NaN" not in page.locator(".charts").inner_html()


def test_intervals_are_on_a_common_scale(visit, service):
    page = visit(SHOP)
    arms = service.canned.experiments["shop front"].arms
    ends = [(arm.mean - 2 * (arm.error or 0), arm.mean + 2 * (arm.error or 0)) for arm in arms]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    pictures = page.locator(".arms .interval")
    expect(pictures).to_have_count(len(arms))
    for arm, end, picture in zip(arms, ends, pictures.all(), strict=True):
        places = {"circle": ["cx"], "line.spread": ["x1", "x2"] if arm.error else []}
        drawn = [
            float(picture.locator(part).get_attribute(name).rstrip("%"))
            for part, names in places.items()
            for name in names
        ]
        values = [arm.mean, *end] if arm.error else [arm.mean]
        assert drawn == pytest.approx([4 + 92 * (v - low) / (high - low) for v in values])
    best = page.locator(".arms tr.best th").all_inner_texts()
    expected = [max(group, key=lambda arm: arm.mean).name for group in (arms[:5], arms[5:])]
    assert best == expected


def test_many_rows_can_be_filtered(visit):
    page = visit(VIEWS["wide"])
    page.get_by_label("Filter").fill("segment 7 ")
    rows = page.locator(".arms tbody tr:has(td)")
    expect(rows).to_have_count(5)
    assert page.locator(".arms th.context").all_inner_texts() == ["segment 7"]
    assert page.locator(".filter .note").inner_text() == "5 of 100"
    assert visit(SHOP).get_by_label("Filter").count() == 0


def test_a_filter_does_not_change_which_arm_is_best(visit):
    page = visit(VIEWS["wide"])
    page.wait_for_selector(".arms")
    best = page.locator(".arms tr.best th").all_inner_texts()
    page.get_by_label("Filter").fill("banner")
    expect(page.locator(".arms tbody tr:has(td)")).to_have_count(20)
    assert 0 < page.locator(".arms tr.best").count() == best.count("banner") < 20


def test_open_contexts_show_coefficients(visit):
    page = visit(VIEWS["open"])
    expect(page.get_by_role("heading", name="Coefficients")).to_be_visible()
    assert page.locator(".arms tbody tr").count() == 30
    assert page.locator(".arms thead th").nth(0).inner_text() == "feature"


def test_a_decision_says_why_this_arm_and_against_which(visit, service):
    page = visit(SHOP)
    detail = service.canned.decisions["shop front"][1]
    button = page.locator(".toggle").nth(1)
    button.click()
    expect(button).to_have_attribute("aria-expanded", "true")
    why = page.locator(".why")
    chosen = detail.decision
    assert chosen.gap == 0
    assert detail.status == "rewarded"
    sentence = why.locator("p").nth(0).inner_text()
    assert sentence == f"{detail.why.text} {detail.why.outcome}"
    assert "42 seconds later" in sentence
    names = [row.locator("th").inner_text() for row in why.locator("tbody tr").all()]
    means = {arm.name: arm.mean for arm in detail.why.arms}
    ordered = sorted(means, key=means.get, reverse=True)
    assert names == [name + " chosen" * (name == chosen.name) for name in ordered]
    page.keyboard.press("Enter")
    expect(why).to_have_count(0)


def test_an_exploring_decision_without_a_reward(visit, service):
    page = visit(SHOP)
    detail = service.canned.decisions["shop front"][0]
    assert detail.decision.gap > 0
    row = page.locator(".decisions > tbody > tr").nth(0)
    expect(row.locator("td").last).to_have_text("pending")
    row.locator(".toggle").click()
    sentence = page.locator(".why p").nth(0).inner_text()
    assert sentence == f"{detail.why.text} {detail.why.outcome}"
    assert "explored" in sentence


def test_new_numbers_appear_and_nothing_else_moves(visit, service):
    page = visit(SHOP, viewport={"width": 1280, "height": 600})
    page.locator(".charts + details summary").click()
    page.locator(".toggle").nth(1).click()
    opened = service.canned.decisions["shop front"][1].decision.id
    rng = np.random.default_rng(1)
    shop = service.canned.experiments["shop front"]
    newer = [decision(number, shop.arms[:5], rng) for number in range(60_050, 60_020, -1)]
    service.canned.decisions["shop front"][:0] = newer
    counts = shop.counts.model_copy(update={"decisions": 31_234})
    service.canned.experiments["shop front"] = shop.model_copy(update={"counts": counts})
    expect(page.locator(".tiles dd").nth(0)).to_have_text(f"31{SPACE}234", timeout=8000)
    assert page.locator(".why").count() == 1  # it is kept below the newer ones
    assert opened in page.locator(".why").inner_text()
    assert page.evaluate("document.activeElement.className") == "toggle"
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    assert page.locator("details").get_attribute("open") is not None


def test_the_scroll_position_stays(visit, service):
    page = visit(VIEWS["wide"])
    page.wait_for_selector(".arms")
    page.evaluate("scrollTo(0, 1500)")
    name = "wide-" + "x" * 60
    changed = service.canned.experiments[name].model_copy(update={"mean_reward": 0.123})
    service.canned.experiments[name] = changed
    expect(page.locator(".tiles dd").nth(1)).to_have_text("0.123", timeout=8000)
    assert page.evaluate("scrollY") == 1500


def test_a_hidden_page_asks_for_nothing(visit):
    page = visit()
    page.wait_for_selector("table")
    page.evaluate(
        "Object.defineProperty(document, 'visibilityState', {value: 'hidden', writable: true})"
    )
    before = len(visit.requests)
    page.wait_for_timeout(2600)
    assert len(visit.requests) == before
    with page.expect_request("**/v1/experiments"):
        page.evaluate(
            "document.visibilityState = 'visible';"
            "document.dispatchEvent(new Event('visibilitychange'))"
        )


def test_after_errors_requests_become_rarer(visit, service):
    page = visit()
    page.wait_for_selector("table")
    waits = page.evaluate("""async () => {
      const { Poll } = await import("/page/live.js");
      const waits = [];
      return new Promise((resolve) => {
        window.setTimeout = (again, wait) => {
          waits.push(wait);
          if (waits.length < 7) queueMicrotask(again);
          else resolve(waits);
        };
        const load = async () => { if (waits.length < 6) throw new Error("none"); };
        new Poll(load, () => {}, () => {});
      });
    }""")
    assert waits == [4000, 8000, 16000, 30000, 30000, 30000, 2000]


def test_a_lost_connection_is_said_and_ends(visit):
    page = visit()
    page.wait_for_selector("table")
    page.context.set_offline(True)
    line = page.locator("#connection")
    expect(line).to_contain_text("Disconnected since", timeout=8000)
    expect(line).to_contain_text("Showing the last data received.")
    expect(page.locator("table")).to_be_visible()
    page.context.set_offline(False)
    expect(line).to_be_hidden(timeout=10_000)
    assert visit.errors  # the browser writes them
    visit.errors.clear()


def test_an_unknown_experiment_is_refused_in_the_words_of_the_server(visit):
    page = visit("#/experiments/none")
    line = page.locator("#connection")
    expect(line).to_contain_text("experiment: there is none with the name none (since")
    visit.errors.clear()


def test_an_experiment_can_be_paused_and_resumed(visit, service):
    page = visit(SHOP)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".badge")).to_have_text("paused")
    assert service.canned.experiments["shop front"].status == "paused"
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".badge")).to_have_text("active")


def test_archiving_asks_first(visit, service):
    page = visit(SHOP)
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Archive").click()
    assert service.canned.experiments["shop front"].status == "active"
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Archive").click()
    expect(page.locator(".badge")).to_have_text("archived")
    expect(page.get_by_role("button", name="Archive")).to_have_count(0)


def test_a_refused_change_shows_the_error_and_asks_for_a_token(visit, service):
    service.canned.refuses_changes = True
    page = visit(SHOP)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("alert")).to_have_text(
        "Authorization: a token with the scope admin expected"
    )
    page.wait_for_timeout(2500)  # updates, which are allowed, do not take the field away
    expect(page.get_by_label("token")).to_be_visible()
    expect(page.locator(".badge")).to_have_text("active")
    visit.errors.clear()


def test_a_token_is_asked_for_kept_and_sent(visit, service):
    service.canned.token = "secret"
    page = visit(SHOP)
    page.get_by_label("token").fill("wrong")
    page.get_by_role("button", name="Use it").click()
    page.get_by_label("token").fill("secret")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("shop front")
    expect(page.locator("#token")).to_be_hidden()
    with page.expect_download() as download:
        page.get_by_role("link", name="Parquet").click()
    assert download.value.suggested_filename == "shop front.parquet"
    assert download.value.path().read_text() == "log of shop front as parquet"
    page.reload()
    expect(page.locator("h1")).to_have_text("shop front")
    page.get_by_role("button", name="Forget").click()
    expect(page.get_by_label("token")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0
    visit.errors.clear()


def test_the_log_can_be_saved_without_a_token_and_whole(visit):
    page = visit(SHOP)
    with page.expect_download() as download:
        page.get_by_role("link", name="Parquet").click()
    assert download.value.path().read_text() == "log of shop front as parquet"
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON").click()
    assert download.value.suggested_filename == "shop front.json"
    saved = json.loads(download.value.path().read_text())  # of answers with two entries
    assert [entry["seq"] for entry in saved] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("view", VIEWS)
def test_names_stay_text(visit, view):
    page = shown(visit(VIEWS[view]), view)
    assert page.locator("#view :is(script, img)").count() == 0
    assert "hit" not in page.title().replace(HOSTILE, "")
    if view in ("overview", "listed", "hostile"):
        assert HOSTILE in page.locator("#view").inner_text()


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_wider_than_a_phone(visit, view):
    page = shown(visit(VIEWS[view], viewport={"width": 360, "height": 700}), view)
    assert page.evaluate("document.documentElement.scrollWidth") == 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_text_has_contrast(visit, view, scheme):
    page = shown(visit(VIEWS[view], color_scheme=scheme), view)
    contrast, text = page.evaluate(LEAST_CONTRAST)
    assert contrast >= 4.5, text
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(21, 23, 26)") == (scheme == "dark")


def test_numbers_have_three_digits_in_groups(visit):
    page = visit()
    values = [0, 0.7, -12.345, 999.6, 1234567, 1e12, 0.00001234, None]
    texts = page.evaluate(
        "async (values) => values.map((await import('/page/format.js')).number)", values
    )
    assert [text.replace(SPACE, " ") for text in texts] == [
        "0", "0.700", f"{MINUS}12.3", "1 000", "1 230 000", "1.00e12", f"1.23e{MINUS}5", NONE,
    ]  # fmt: skip


def test_files_have_their_types_and_the_page_is_locked_to_its_server():
    with serving(make_app(Canned())) as url:
        kinds = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
        paths = {f"page/{path.name}": kinds.get(path.suffix) for path in FOLDER.iterdir()}
        del paths["page/index.html"]
        for path, kind in {**paths, "": "text/html"}.items():
            with urllib.request.urlopen(url + path) as reply:
                assert reply.headers.get_content_type() == kind
                assert reply.headers["Cache-Control"] == "no-cache"
                assert reply.headers["X-Content-Type-Options"] == "nosniff"
                assert reply.headers["Referrer-Policy"] == "no-referrer"
                policy = reply.headers["Content-Security-Policy"]
                assert policy.startswith("default-src 'self';")
                assert "unsafe" not in policy
        for path in ("page/none.js", "page/%2e%2e%2fpage_files.py", "page/index.html"):
            with pytest.raises(HTTPError, match="404") as refused:
                urllib.request.urlopen(url + path)
            refused.value.close()
