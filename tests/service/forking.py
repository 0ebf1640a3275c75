"""Processes that use a client which was made before they were forked.

Run by test_client_forks.py in a process of its own: `python forking.py CASE URL`, with the URL of
an experiment. Exit code 0 if each process got its own decisions.
"""

import asyncio
import multiprocessing
import os
import signal
import sys
import traceback
import warnings
from threading import Event, Thread

import thrifty as th
from thrifty.service import ids

CHILDREN, REQUESTS, DEADLINE = 6, 150, 60  # seconds until a child that hangs is killed


def ask(shop, who, requests=REQUESTS):
    """Ask for decisions and compare: the client would raise an error, but is not trusted here."""
    for n in range(requests):
        asked = f"{who}-{n}"
        assert shop.choose("phone", id=asked).id == asked


async def ask_async(shop, who, requests=REQUESTS):
    for n in range(requests):
        asked = f"{who}-{n}"
        assert (await shop.choose("phone", id=asked)).id == asked


def fork(work, *arguments):
    """Do some work in a child; returns its id."""
    child = os.fork()
    if child:
        return child
    signal.alarm(DEADLINE)  # kills, also while a lock is waited for
    status = 1
    try:
        work(*arguments)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def all_right(children):
    statuses = [os.waitpid(child, 0)[1] for child in children]
    assert not any(statuses), statuses


def forked(url, name):
    """Children of os.fork, all at once, while the parent asks, too."""
    with th.Client(url) as client:
        shop = client.experiment(name)
        ask(shop, "before", 3)
        children = [fork(ask, shop, f"child {n}") for n in range(CHILDREN)]
        ask(shop, "parent")
        all_right(children)
        ask(shop, "after", 3)


def multiprocess(url, name):
    """Children of multiprocessing, and children of these."""
    context = multiprocessing.get_context("fork")

    def work(who, depth):
        ask(shop, f"{who} first", 3)
        below = [context.Process(target=work, args=(f"{who}.{n}", depth - 1)) for n in range(depth)]
        for process in below:
            process.start()
        ask(shop, who)
        for process in below:
            process.join(DEADLINE)
            assert process.exitcode == 0, process.exitcode

    with th.Client(url) as client:
        shop = client.experiment(name)
        work("top", 2)


def threads(url, name):
    """Children of a process whose threads are within requests, and hold what locks there are."""
    over, faults = Event(), []

    def go_on(who):
        try:
            for n in range(10**6):
                if over.is_set():
                    return
                ask(shop, f"{who} {n}", 1)
        except BaseException:
            faults.append(traceback.format_exc())

    with th.Client(url) as client:
        shop = client.experiment(name)
        working = [Thread(target=go_on, args=(f"thread {n}",)) for n in range(3)]
        for thread in working:
            thread.start()
        for round in range(10):
            all_right([fork(ask, shop, f"child {round}.{n}", 5) for n in range(3)])
        over.set()
        for thread in working:
            thread.join()
    assert not faults, faults[0]


def lock_of_ids(url, name):
    """A child of a process in which another thread is making an id."""
    held, over = Event(), Event()

    def hold():
        with ids._lock:
            held.set()
            over.wait()

    thread = Thread(target=hold)
    thread.start()
    held.wait()
    try:
        all_right([fork(ids.new_id)])
    finally:
        over.set()
        thread.join()


def loops(url, name):
    """Children that have event loops of their own, while that of the parent runs."""

    async def work(who):
        async with th.AsyncClient(url) as other:
            await asyncio.gather(*(ask_async(other.experiment(name), f"{who}.{n}") for n in "ab"))

    def child(who):
        asyncio.run(asyncio.wait_for(ask_async(shop, who), DEADLINE))

    async def parent():
        await ask_async(shop, "before", 3)
        children = [fork(child, f"child {n}") for n in range(CHILDREN)]
        await ask_async(shop, "parent")
        await asyncio.to_thread(all_right, children)
        await ask_async(shop, "after", 3)
        await client.close()
        await work("other")

    client = th.AsyncClient(url)
    shop = client.experiment(name)
    asyncio.run(parent())


def connections(url, name):
    """A child that uses the client, closes it and ends; then the parent goes on."""
    with th.Client(url) as client:
        shop = client.experiment(name)

        def child():
            ask(shop, "child", 2)
            client.close()

        ask(shop, "parent", 2)
        all_right([fork(child)])
        ask(shop, "parent", 2)


if __name__ == "__main__":
    warnings.filterwarnings("error")
    # from Python 3.12 on: that a process with threads is forked is what these cases are about
    warnings.filterwarnings("ignore", message=".*multi-threaded", category=DeprecationWarning)
    case = {case.__name__: case for case in (forked, multiprocess, threads, lock_of_ids, loops)}
    case[connections.__name__] = connections
    url, _, name = sys.argv[2].partition("/v1/experiments/")
    case[sys.argv[1]](url, name)
