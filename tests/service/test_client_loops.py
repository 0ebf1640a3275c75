"""An asynchronous client in several event loops: each has connections of its own."""

import asyncio
import gc
import logging
import time
from threading import Event, Thread

import pytest
import uvloop

import thrifty as th
from tests.service.fake_server import FakeService, make_app, serving, speaking
from thrifty.errors import Unreachable
from thrifty.service.client import deadlines, pools

LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]


@pytest.fixture(scope="module")
def url():
    with serving(make_app(FakeService())) as url, th.Client(url) as client:
        client.create("shop", dimension=2)
        yield url


def run(main, make=asyncio.new_event_loop):
    with asyncio.Runner(loop_factory=make) as runner:
        return runner.run(asyncio.wait_for(main, 30))


@pytest.fixture(autouse=True)
def everything_is_closed():
    """What is collected unclosed is a warning, and so an error."""
    yield
    gc.collect()


@pytest.mark.parametrize("make", LOOPS)
def test_a_client_works_in_one_loop_after_another(url, make):
    client = th.AsyncClient(url, retries=0)
    shop = client.experiment("shop")
    ids = [run(shop.choose("mobile"), make).id for _ in range(5)]
    assert len(set(ids)) == 5
    run(client.close(), make)
    with pytest.raises(Unreachable, match="the client was closed"):
        run(shop.choose("mobile"), make)


def test_a_client_works_in_several_loops_at_once(url):
    client, found = th.AsyncClient(url, retries=0), []
    shop = client.experiment("shop")

    async def several():
        return [decision.id for _ in range(20) for decision in [await shop.choose("mobile")]]

    def work():
        found.extend(run(several()))

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 80


def test_a_loop_uses_its_connection_again_and_closes_it_when_it_ends():
    talks = []

    def talk(peer):
        asked = []
        talks.append(asked)
        while (line := peer.request()[0]) != "":
            asked.append(line)
            peer.answer(b"[]")

    async def twice():
        return [await client.experiments() for _ in range(2)]

    with speaking(talk) as url:
        client = th.AsyncClient(url, retries=0)
        for _ in range(3):
            assert run(twice()) == [[], []]
    assert [len(asked) for asked in talks] == [2, 2, 2]


def test_a_request_that_is_cancelled_leaves_the_client_usable(url):
    async def play():
        async with th.AsyncClient(url, retries=0) as client:
            shop = client.experiment("shop")
            for delay in (0, 0.0005, 0.001, 0.002, 0.005):
                tasks = [asyncio.create_task(shop.choose("mobile")) for _ in range(20)]
                await asyncio.sleep(delay)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            return await shop.choose("mobile", id="last")

    assert run(play()).id == "last"


def cancel_after(turns, task):
    """Cancel a task when its loop has turned so many times."""
    if turns == 0:
        task.cancel()
    else:
        asyncio.get_running_loop().call_soon(cancel_after, turns - 1, task)


@pytest.mark.parametrize("make", LOOPS)
def test_a_request_that_is_cancelled_while_its_reply_is_read_keeps_no_place(url, make, monkeypatch):
    """The only connection is free again, in whichever step the caller was cancelled."""
    monkeypatch.setitem(pools.LIMITS, "max_connections", 1)
    read, cancelled = deadlines.AsyncStream.read, []

    async def play():
        async with th.AsyncClient(url, retries=0, timeout=5) as client:
            shop = client.experiment("shop")
            for turns in range(12):
                task = asyncio.create_task(shop.choose("mobile"))

                async def then_cancelled(*given, turns=turns, task=task, **named):
                    found = await read(*given, **named)
                    cancel_after(turns, task)
                    return found

                monkeypatch.setattr(deadlines.AsyncStream, "read", then_cancelled)
                await asyncio.wait([task])
                cancelled.append(task.cancelled())
                monkeypatch.setattr(deadlines.AsyncStream, "read", read)
                await shop.choose("mobile")

    run(play(), make)
    assert cancelled[0]
    assert not cancelled[-1]  # all steps were tried


def test_the_attempt_of_a_cancelled_request_ends_with_the_client(caplog):
    asked = Event()

    def talk(peer):
        peer.request()
        asked.set()
        peer.over.wait()

    async def play(url):
        async with th.AsyncClient(url, retries=0, timeout=60) as client:
            tasks = [asyncio.create_task(client.experiments()) for _ in range(2)]
            await asyncio.to_thread(asked.wait, 10)
            tasks[0].cancel()
            await asyncio.wait(tasks[:1])
        with pytest.raises(Unreachable, match="the client was closed"):
            await tasks[1]
        return len(asyncio.all_tasks())

    with speaking(talk) as url, caplog.at_level(logging.DEBUG, "asyncio"):
        begun = time.monotonic()
        assert run(play(url)) == 2  # its own, and that of wait_for
        assert time.monotonic() - begun < 10
    assert "exception" not in caplog.text


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of loops that end without closing sockets
def test_what_a_loop_has_opened_is_let_go_if_it_closes_without_an_end(url):
    client = th.AsyncClient(url, retries=0)
    for _ in range(3):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(client.experiments())
        loop.close()
    processes = client._transport._pool._processes
    assert len(processes.get().opened) == 1
    run(client.experiments())
    assert len(processes.get().opened) == 0
    gc.collect()


def test_a_client_that_is_not_used_opens_and_closes_nothing():
    async def nothing():
        async with th.AsyncClient("http://127.0.0.1:1"):
            pass

    run(nothing())
