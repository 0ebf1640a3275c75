"""A client after fork(): processes do not share connections, and so no answers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service.fake_server import speaking

SCRIPT = Path(__file__).parent / "forking.py"


def run(case, url):
    """Run a case in a process without threads."""
    asked = [sys.executable, SCRIPT, case, url]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("case", ["forked", "multiprocess", "threads", "loops"])
def test_each_process_gets_its_own_decisions(server, case):
    run(case, f"{server.url}{server.make(case)}")


def test_a_child_of_a_process_that_was_making_an_id_makes_ids():
    run("lock_of_ids", "")


def test_a_child_leaves_the_connection_of_its_parent_alone():
    asked = []

    def talk(peer):
        ids = []
        asked.append(ids)
        while not peer.over.is_set():
            line, _, body = peer.request()
            if not line:  # closed
                return
            ids.append(json.loads(body)["id"])
            decision = {"id": ids[-1], "seq": 1, "context": "phone", "arm": 0, "name": "a"}
            decision |= {"label": "greedy", "probability": None, "gap": 0}
            peer.answer(json.dumps(decision).encode())

    with speaking(talk) as url:
        run("connections", f"{url}/v1/experiments/shop")
    assert asked == [["parent-0", "parent-1"] * 2, ["child-0", "child-1"]]
