"""Kill -9 of a server, and of its database, under load: nothing acknowledged is lost or twice."""

import os
import random
import time

import httpx
import pytest

from tests.service.load import Account, check, load, make_experiments
from tests.service.postgres import Postgres
from tests.service.processes import Server

pytestmark = pytest.mark.kills

KILLS = int(os.environ.get("THRIFTY_KILLS", "10"))


@pytest.fixture(scope="module")
def postgres():
    with Postgres() as started:
        yield started


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store(request, tmp_path):
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    return request.getfixturevalue("postgres").make_database("servers")


def test_a_server_that_is_killed_has_kept_everything_that_it_acknowledged(store, tmp_path):
    account, rng = Account(), random.Random(0)
    with Server(store, tmp_path) as server:
        make_experiments(server.url)
        with load([server.url], account):
            for _ in range(KILLS):
                account.wait_for(10)
                time.sleep(rng.uniform(0, 0.3))
                server.kill()
                check(account, store)
                server.start()
            account.wait_for(10)
    check(account, store)


@pytest.mark.postgres
def test_a_database_that_is_killed_is_used_again_as_soon_as_it_is_back(tmp_path):
    account = Account()
    with Postgres() as postgres, Server(postgres.url, tmp_path) as server:
        make_experiments(server.url)
        with load([server.url], account):
            for _ in range(KILLS):
                account.wait_for(10)
                postgres.kill()
                refuses(server.url)
                postgres.start()
                account.wait_for(1, seconds=10)
                check(account, postgres.url)
        check(account, postgres.url)
        assert account.refused > 0
        assert server.process.poll() is None


def refuses(url):
    """Decisions and reading are answered with 503, and it is not ready; but it is alive."""
    decisions, log = (f"{url}/v1/experiments/listed/{part}" for part in ("decisions", "log"))
    # connections that are at work when the postmaster is killed may finish it
    wait_for_refusal(lambda: httpx.get(f"{url}/readyz", timeout=5))
    for ask in (
        lambda: httpx.post(decisions, json={"context": "unknown"}, timeout=5),
        lambda: httpx.get(log, timeout=5),
    ):
        refused = wait_for_refusal(ask)
        assert refused.headers["retry-after"] == "1"
        assert set(refused.json()["error"]) == {"where", "message"}
    assert httpx.get(f"{url}/healthz", timeout=5).status_code == 200


def wait_for_refusal(ask):
    """The first answer with 503, which must come soon."""
    end = time.monotonic() + 5
    while (found := ask()).status_code != 503:
        assert time.monotonic() < end, found.text
        time.sleep(0.05)
    return found
