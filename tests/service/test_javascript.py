"""The client in JavaScript: its own tests, against a real service, and types, which are current.

Node is found or installed by tests/node.py.
"""

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from fastapi.responses import FileResponse, HTMLResponse
from playwright.sync_api import expect, sync_playwright

from tests import node
from tests.browser import launch
from tests.service.fake_server import NOTHING, FakeService, make_app, serving
from thrifty.service.storage.tokens import make_token

ROOT = Path(__file__).parents[2]
README = (node.FOLDER / "README.md").read_text()
PACKAGE = json.loads((node.FOLDER / "package.json").read_text())
TYPES = ("openapi.d.ts", "thrifty.d.ts")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def installed():
    node.get_node()


@pytest.fixture(scope="module")
def token(server):
    """The one token of the server."""
    with server.app.state.service.store.begin() as connection:
        made = make_token(connection, "js", ["admin"])
    server.client.headers["Authorization"] = f"Bearer {made}"
    return made


def run(*command, **environment):
    """What a program of Node prints."""
    done = subprocess.run(
        ["node", *map(str, command)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        cwd=node.FOLDER,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    return done.stdout


def test_it_asks_again_checks_replies_and_refuses_mistakes():
    assert "\n# fail 0\n" in run("--test", "--test-reporter=tap", "test/client.test.js")


def test_it_decides_and_learns_with_a_real_service(server, token):
    settings = {"THRIFTY_URL": server.url, "THRIFTY_TOKEN": token}
    done = run("--test", "--test-reporter=tap", "test/service.test.js", **settings)
    assert "\n# fail 0\n" in done


def test_the_example_of_its_page_runs(server, token, tmp_path):
    server.make("shop")
    [example] = re.findall(r"```js\n(.*?)```", README, flags=re.DOTALL)
    program = example.replace("thrifty-client", (node.FOLDER / "thrifty.js").as_uri())
    program = program.replace("http://127.0.0.1:8080", server.url).replace("th_...", token)
    (tmp_path / "example.mjs").write_text(program)
    assert run(tmp_path / "example.mjs") == "learned\n"


IN_A_PAGE = """<!doctype html><title>shop</title><p></p><script type="module">
import { Client } from "./thrifty.js";
const shop = new Client("/", { token: "th_of_the_page" }).experiment("shop");
const decision = await shop.choose("phone");
const said = [await shop.learn(decision, true), await shop.learn(decision.id, 1)];
const failed = await shop.choose("phone", { id: "../x" }).catch((error) => error.name);
document.querySelector("p").textContent = [decision.name, ...said, failed].join(", ");
</script>"""


@pytest.mark.browser
def test_it_works_in_a_browser():
    service = FakeService()
    service.experiments["shop"] = {"name": "shop", "status": "active", **NOTHING}
    app = make_app(service)
    app.app.get("/")(lambda: HTMLResponse(IN_A_PAGE))
    script = FileResponse(node.FOLDER / "thrifty.js", media_type="text/javascript")
    app.app.get("/thrifty.js")(lambda: script)
    with serving(app) as url, sync_playwright() as playwright, launch(playwright) as browser:
        page = browser.new_page()
        page.goto(url)
        expect(page.locator("p")).to_have_text("0, learned, already, ServiceError")
    assert len(service.bodies) == 1


@pytest.fixture
def tools():
    """What makes the types, from npm."""
    if not node.get_tools():
        pytest.fail(node.NO_TOOLS)


def test_the_description_is_that_of_the_service():
    """`make types` writes it anew."""
    assert node.DOCUMENT.read_text() == node.document()


def test_types_are_those_of_the_description_and_of_the_client(tools, tmp_path):
    """`make types` writes them anew."""
    for name in ("package.json", "tsconfig.json", "thrifty.js", "openapi.json"):
        shutil.copy(node.FOLDER / name, tmp_path)
    node.write_types(tmp_path)
    for name in TYPES:
        assert (tmp_path / name).read_text() == (node.FOLDER / name).read_text(), name


WRONG = {
    "await shop.choose('phone', { avaliable: [] })": "avaliable",
    "await shop.learn(await shop.choose('phone'), 'much')": "number | boolean",
    "(await shop.info()).mean_rewrad": "mean_rewrad",
    "await shop.change({ add_arm: { context: 'x' } })": "features",
}
RIGHT = """
import { Client, type Decision } from "./thrifty.js";
const shop = new Client("http://a", { token: "t" }).experiment("shop");
const decision: Decision = await shop.choose([[1, 2], new Float64Array(2)], { names: ["a", "b"] });
const name: string = decision.name, chance: number | null = decision.probability;
const said: "learned" | "already" = await shop.learn(decision, true);
const mean: number = (await shop.explain(decision)).why.arms[0].mean;
for await (const entry of shop.log()) console.log(entry.seq, name, chance, said, mean);
"""


def test_the_types_find_mistakes(tools, tmp_path):
    for name in ("thrifty.js", *TYPES):
        shutil.copy(node.FOLDER / name, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    assert compiled(tmp_path, RIGHT) == ""
    for line, word in WRONG.items():
        said = compiled(tmp_path, f"{RIGHT}{line};\n")
        assert said.count(": error TS") == 1, said
        assert word in said


def compiled(folder, program):
    """What the compiler of TypeScript says of a program."""
    (folder / "program.ts").write_text(program)
    strict = ["--strict", "--noEmit", "--target", "es2022", "--module", "nodenext"]
    done = subprocess.run(
        [node.FOLDER / "node_modules/.bin/tsc", *strict, "program.ts"],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    return done.stdout


def test_the_package_has_what_it_needs_and_no_address_of_a_registry():
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert PACKAGE["version"] == re.sub(r"\.dev(\d+)$", r"-dev.\1", whole["version"])
    assert "dependencies" not in PACKAGE
    assert all((node.FOLDER / name).is_file() for name in PACKAGE["files"])
    assert PACKAGE["engines"]["node"] == f">={node.LOWEST}"
    assert (node.FOLDER / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert '"resolved"' not in (node.FOLDER / "package-lock.json").read_text()
    assert not re.search(r"^import ", (node.FOLDER / "thrifty.js").read_text(), flags=re.MULTILINE)
