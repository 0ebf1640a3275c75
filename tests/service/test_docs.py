"""docs/service.md is true: its commands print what it shows, its limits are those of the code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service.servers import serving
from thrifty.service.server import connections, experiment, gate, schemas, writer
from thrifty.service.server.experiment import CHANGES
from thrifty.service.storage import store
from thrifty.service.storage.tokens import SCOPES

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
ADDRESS = "http://127.0.0.1:8080"


@pytest.mark.slow
def test_commands_print_what_the_page_shows(tmp_path):
    with serving(tmp_path / "thrifty.db") as server:
        for command, shown in _commands():
            own = command.replace(ADDRESS, server.url)
            own = re.sub(r"^thrifty ", f"{sys.executable} -m thrifty ", own)
            done = subprocess.run(
                own,
                check=False,
                shell=True,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=300,
            )
            expected = ".*".join(map(re.escape, shown.split("...")))
            assert re.fullmatch(expected, done.stdout.strip()), (own, done.stdout, done.stderr)


def _commands():
    """Commands of the page with what they print; `>` continues a command."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
    found = []
    for line in "".join(blocks).splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif line.startswith("> "):
            found[-1][0] += f"\n{line[2:]}"
        else:
            found[-1][1] += line
    assert len(found) >= 8
    return found


@pytest.mark.parametrize(
    ("what", "most"),
    [
        ("bytes of a request", gate.MOST_BYTES),
        ("items of a list of decisions or rewards", schemas.MOST_BATCH),
        ("arms of a context, or of a decision", schemas.MOST_ARMS),
        ("contexts of an experiment", schemas.MOST_CONTEXTS),
        ("features of an arm", schemas.MOST_DIMENSIONS),
        ("pending decisions of an experiment", experiment.MOST_PENDING),
        ("requests in flight", gate.MOST_IN_FLIGHT),
        ("requests that wait for the writer", writer.MOST_QUEUED),
        ("requests about one experiment that wait", writer.MOST_OF_ONE),
        ("bytes of a header", connections.LONGEST_HEADER),
        ("seconds for a header", int(connections.HEADER)),
        ("seconds for a body", int(connections.BODY)),
        (
            f"seconds in which a reader takes less than {connections.LEAST:,} bytes",
            int(connections.STALLED),
        ),
        ("bytes of all answers that wait to be read", connections.MOST_UNREAD),
        ("connections", connections.MOST),
        ("connections of one address that is not of this machine", connections.MOST_OF_ONE),
        ("events of one answer of the log", store.PAGE),
        ("bytes of one answer of the log, without its last event", store.PAGE_BYTES),
    ],
)
def test_limits_are_those_of_the_code(what, most):
    assert f"| {what} | {most:,} |" in PAGE


def test_every_change_scope_route_and_metric_is_on_the_page(server):
    for name in (*CHANGES, *SCOPES):
        assert f"`{name}`" in PAGE, name
    for path, operations in server.client.get("/openapi.json").json()["paths"].items():
        shown = path.replace("{name}", "NAME").replace("{id}", "ID")
        for method in operations:
            assert f"`{method.upper()} {shown}" in PAGE
    for name in re.findall(r"# TYPE (\w+) (\w+)", server.client.get("/metrics").text):
        if not name[0].endswith("_created"):
            assert f"`{name[0]}" in PAGE
