"""Two servers of one PostgreSQL: one leads an experiment, the other passes requests on to it."""

import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from uuid import uuid4

import httpx
import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import InternalError

from tests.command_line import thrifty
from tests.service.load import Account, check, load, make_experiments
from tests.service.postgres import Postgres
from tests.service.processes import Server
from tests.service.test_writer import SETTINGS
from thrifty.errors import InvalidInput, ThriftyError
from thrifty.service.server import memory
from thrifty.service.server.actions import Create, Decide
from thrifty.service.server.writer import Writer
from thrifty.service.storage import leases
from thrifty.service.storage.leases import LASTS, WATCH, AddressTaken, Elsewhere, Heartbeat, Leases
from thrifty.service.storage.store import EMPTY, Event, EventStore, append, last_seq

pytestmark = [pytest.mark.kills, pytest.mark.postgres]

KILLS = int(os.environ.get("THRIFTY_KILLS", "4"))
LEASE = LASTS / 1e6  # seconds
LONGEST_GAP = 10.0  # seconds without service when a leader is killed
NO_ADDRESSES = """
    a.example.com ftp://a http://joe:secret@a http://a?b http://0.0.0.0:80 http://[::]:80 http://0
"""


@pytest.fixture(scope="module")
def postgres():
    with Postgres() as started:
        yield started


@pytest.fixture(scope="module")
def store(postgres):
    return postgres.make_database("leaders")


@pytest.fixture(scope="module")
def servers(store, tmp_path_factory):
    """Two servers that have started at the same time, on an empty database."""
    folder = tmp_path_factory.mktemp("servers")
    with ExitStack() as stack:
        both = [Server(store, folder, name=name, wait=False) for name in ("first", "second")]
        for server in both:
            stack.enter_context(server)
        for server in both:
            server.wait()
        make_experiments(both[0].url)
        yield both


@pytest.fixture(scope="module")
def account():
    """Of all that is asked for in these tests: they share the experiments."""
    return Account()


def leader_of(servers, name="listed"):
    """The server that leads an experiment, and the other one."""
    for server in servers:
        try:
            shown = httpx.get(f"{server.url}/v1/experiments/{name}", timeout=5)
        except httpx.HTTPError:
            continue
        if shown.status_code == 200:
            url = shown.json()["leader"].rstrip("/")
            return sorted(servers, key=lambda one: one.url != url)
    raise AssertionError("no server answers")


def test_either_server_answers_for_both(servers, store, account):
    first, second = leader_of(servers)
    with load([second.url], account):
        account.wait_for(10)
    with load([first.url, second.url], account):
        account.wait_for(10)
    check(account, store)
    shown = [httpx.get(f"{server.url}/v1/experiments/listed").json() for server in servers]
    assert shown[0] == shown[1]
    unknown = [httpx.get(f"{server.url}/v1/experiments/none") for server in servers]
    assert [one.status_code for one in unknown] == [404, 404]


def test_a_leader_that_is_killed_is_replaced_in_time(servers, store, account):
    gaps = []
    with load([server.url for server in servers], account):
        for _ in range(KILLS):
            account.wait_for(10)
            leader, _ = leader_of(servers)
            killed = time.monotonic()
            leader.kill()
            time.sleep(0.5)  # answers that it has sent before
            account.wait_for(1, LONGEST_GAP)
            gaps.append(account.longest_gap(killed))
            assert account.faults == [], [server.errors() for server in servers]
            check(account, store)
            leader.start()
    check(account, store)
    assert max(gaps) < LONGEST_GAP, [f"{gap:.1f} s" for gap in gaps]


def test_a_leader_that_stops_hands_over_at_once(servers, store, account):
    gaps = []
    with load([server.url for server in servers], account):
        for _ in range(2):
            account.wait_for(10)
            leader, _ = leader_of(servers)
            begun = time.monotonic()
            leader.stop()
            account.wait_for(10)
            gaps.append(account.longest_gap(begun))
            leader.start()
    check(account, store)
    assert max(gaps) < LEASE / 2, [f"{gap:.1f} s" for gap in gaps]


def test_a_leader_that_was_paused_cannot_write(servers, store, account):
    leader, other = leader_of(servers)
    # many clients: those that ask the paused server wait for a while before they ask the other one
    with load([server.url for server in servers], account, clients=24):
        account.wait_for(20)
        begun = time.monotonic()
        leader.pause()
        time.sleep(LEASE)
        account.wait_for(1, 2 * LEASE)
        gap = account.longest_gap(begun)
        leader.resume()
        account.wait_for(20)
    check(account, store)
    assert leader_of(servers)[0] is other
    assert gap < 2 * LEASE, f"{gap:.1f} s"


@pytest.mark.parametrize("before", [0, 1, 3])  # events that it has sent before
def test_a_leader_that_is_paused_while_it_commits_keeps_no_lock(store, monkeypatch, before):
    monkeypatch.setattr(leases, "LASTS", 0)  # they have ended when others ask
    name, events = f"paused-{before}", [Event(n, "changed", 0, None, {}) for n in range(4)]
    first, second = EventStore(store), EventStore(store)
    paused, active = Leases(first, "first", "http://a"), Leases(second, "second", "http://b")
    with first.begin() as connection:
        paused.acquire(connection, name)
    with suppress(InternalError), first.begin() as connection:  # its connection was ended
        assert paused.lost(connection, [name]) == []
        head = append(connection, name, events[:before], EMPTY) if before else EMPTY
        begun = time.monotonic()  # here it is paused
        with second.begin() as other:
            other.execute(text("SET LOCAL lock_timeout = '10s'"))  # fails instead of waiting
            active.acquire(other, name)
        assert time.monotonic() - begun < LONGEST_GAP / 2
        append(connection, name, events[before:], head)
    with first.reading() as connection:
        assert last_seq(connection, name) == 0
    with first.begin() as connection:
        assert paused.lost(connection, [name]) == [name]
    for one in (first, second):
        one.close()


def test_a_leader_keeps_its_lease_while_it_reads_a_long_log(store, monkeypatch):
    """Two writers that need longer than a lease lasts would take it from each other for ever."""
    monkeypatch.setattr(leases, "LASTS", 1_000_000)
    monkeypatch.setattr(leases, "BEAT", 0.2)
    read = memory.load

    def slow(connection, name):
        time.sleep(2)
        return (yield from read(connection, name))

    both = [EventStore(store), EventStore(store)]
    writers = [Writer(one, f"slow-{n}", f"http://{n}") for n, one in enumerate(both)]
    for writer in writers:
        writer.start()
    answers(writers[0], Create("long", SETTINGS))
    writers[0].experiments.pop("long")  # as after a start
    monkeypatch.setattr(memory, "load", slow)
    decide = Decide("long", [("x", {"context": "a"})], ["x"])
    begun = time.monotonic()
    found = [answers(writer, decide) for writer in writers]
    assert [one for one in found if isinstance(one, list)], found
    assert time.monotonic() - begun < 10
    for writer in writers:
        writer.stop()
    for one in both:
        one.close()


def test_a_paused_server_that_makes_an_experiment_keeps_no_lock(store):
    first, second = EventStore(store), EventStore(store)
    paused, active = Leases(first, "first", "http://a"), Leases(second, "second", "http://b")
    with suppress(InternalError), first.begin() as connection:  # its connection was ended
        paused.acquire(connection, "new")
        begun = time.monotonic()  # here it is paused
        with second.begin() as other:
            active.acquire(other, "new")
        assert time.monotonic() - begun < LONGEST_GAP / 2
    for one in (first, second):
        one.close()


def test_a_store_that_several_servers_share_needs_an_address_for_each(store):
    for host in ("0.0.0.0", "", "0", "::0"):
        done = thrifty("serve", "--store", store, "--host", host, "--port", "0")
        assert done.returncode == 2
        assert done.stderr.startswith("thrifty: --url: other servers of the store")


def test_a_server_that_cannot_write_its_address_is_refused(postgres, store):
    with closing(EventStore(store)), psycopg.connect(store, autocommit=True) as connection:
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    url = store.replace("postgres@", "reader@")
    done = thrifty("serve", "--store", url, "--port", "0")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("thrifty: postgresql://reader@")
    assert "the store cannot be used: permission denied for table leases" in done.stderr


def test_a_second_server_with_the_same_address_is_refused(servers, store):
    leader, _ = leader_of(servers)
    for url in (leader.url, f"{leader.url}/", leader.url.replace("http", "HTTP")):
        done = thrifty("serve", "--store", store, "--port", "0", "--url", url)
        assert (done.returncode, done.stderr) == (
            2,
            f"thrifty: --url {leader.url}: another server of this store uses it; "
            "give each one its own address\n",
        )
    assert leader_of(servers)[0] is leader


def test_a_server_that_was_killed_leads_again_at_once(servers):
    leader, _ = leader_of(servers)
    leader.kill()
    leader.start()
    asked = httpx.post(f"{leader.url}/v1/experiments/listed/decisions", json={"context": "a"})
    assert asked.status_code == 200
    assert leader_of(servers)[0] is leader


@pytest.fixture
def claims(store):
    """Makes servers' leases for one address, each with an end that its renewals come to."""
    opened, url = [], f"http://{uuid4()}"

    def make(holder):
        opened.append(EventStore(store))
        return Leases(opened[-1], holder, url)

    yield make
    for one in opened:
        one.close()


@contextmanager
def renewed(leases):
    """As by a server that is at work."""
    beat = Heartbeat(leases, lambda: True)
    beat.start()
    yield
    beat.stop()


def seconds_to_claim(leases):
    begun = time.monotonic()
    leases.claim_address()
    return time.monotonic() - begun


def test_an_address_is_free_when_its_server_has_gone(claims):
    first, second, third = (claims(holder) for holder in ("first", "second", "third"))
    assert seconds_to_claim(first) < 0.5
    with renewed(first), pytest.raises(InvalidInput, match="another server of this store uses it"):
        second.claim_address()
    assert seconds_to_claim(second) < WATCH / 1e6 + 1  # the first was killed
    with second.store.begin() as connection:
        second.release(connection)
    assert seconds_to_claim(third) < 0.5


def test_of_two_that_claim_an_address_together_one_gets_it(claims):
    def claim(leases):
        with suppress(InvalidInput):
            leases.claim_address()
            with renewed(leases):
                time.sleep(2 * WATCH / 1e6)
            return leases.holder

    for _ in range(3):
        both = [claims(str(uuid4())) for _ in range(2)]
        with ThreadPoolExecutor() as pool:
            assert sum(one is not None for one in pool.map(claim, both)) == 1


def test_a_server_that_lost_its_address_takes_nothing_from_the_new_one(claims):
    paused, active = claims("paused"), claims("active")
    paused.claim_address()
    active.claim_address()  # when the first was silent for long enough
    with active.store.begin() as connection:
        active.acquire(connection, "contested")
    with paused.store.begin() as connection, pytest.raises(Elsewhere):
        paused.acquire(connection, "contested")


def test_a_server_that_lost_its_address_is_not_ready_until_it_is_free_again(store, claims):
    active = claims("active")
    with ExitStack() as stack:
        writer = Writer(stack.enter_context(closing(EventStore(store))), "paused", active.url)
        writer.memory.leases.claim_address()
        writer.start()
        stack.callback(writer.stop)
        answers(writer, Create(name := str(uuid4()), SETTINGS))
        with active.store.begin() as connection:  # as when the first was paused for long enough
            lease = leases._read(connection, [active._address], "update")[active._address]
            active._take(connection, active._address, lease, active.store.now(connection))
        wait(lambda: not writer.is_ready())
        decide = Decide(name, [("x", {"context": "a"})], ["x"])
        for action in (decide, Create(str(uuid4()), SETTINGS)):
            assert isinstance(answers(writer, action), AddressTaken)
        assert not writer.is_ready()
        with active.store.begin() as connection:
            active.release(connection)
        wait(writer.is_ready)
        assert isinstance(answers(writer, decide), list)


def wait(for_what):
    end = time.monotonic() + LONGEST_GAP
    while not for_what():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("url", NO_ADDRESSES.split())
def test_an_address_is_checked(url):
    done = thrifty("serve", "--url", url)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("thrifty: --url: ")
    assert "secret" not in done.stderr


def answers(writer, action):
    """The answer to an action, which may be an error."""

    async def asked():
        return await asyncio.wait_for(asyncio.gather(writer.submit(action)), 20)

    try:
        return asyncio.run(asked())[0]
    except ThriftyError as error:
        return error
