"""An asynchronous client in several event loops: each has connections of its own."""

import asyncio
import gc
from threading import Thread

import pytest
import uvloop

import thrifty as th
from tests.service.fake_server import FakeService, make_app, serving, speaking
from thrifty.errors import Unreachable

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


def test_a_client_that_is_not_used_opens_and_closes_nothing():
    async def nothing():
        async with th.AsyncClient("http://127.0.0.1:1"):
            pass

    run(nothing())
