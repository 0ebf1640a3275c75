"""Ids are UUIDs of version 7 that sort by time."""

import time
from concurrent.futures import ThreadPoolExecutor
from uuid import RFC_4122, UUID

from thrifty.service import ids
from thrifty.service.ids import new_id


def test_an_id_has_the_layout_of_version_7():
    before = time.time_ns() // 1_000_000
    made = UUID(new_id())
    after = time.time_ns() // 1_000_000
    assert (made.version, made.variant) == (7, RFC_4122)
    assert before <= made.int >> 80 <= after


def test_ids_sort_in_the_order_they_were_made_and_differ_between_threads():
    made = [new_id() for _ in range(10_000)]
    assert made == sorted(set(made))
    with ThreadPoolExecutor(4) as pool:
        many = list(pool.map(lambda _: new_id(), range(10_000)))
    assert len({*many, *made}) == 20_000


def test_ids_still_grow_if_the_clock_goes_back(monkeypatch):
    ahead = (time.time_ns() // 1_000_000 + 3_600_000) * 4096
    monkeypatch.setattr(ids, "_last", ahead)
    made = [new_id() for _ in range(100)]
    assert made == sorted(made)
    assert UUID(made[0]).int >> 80 == ahead // 4096
    assert len({one[:18] for one in made}) == 100  # all bits of time


def test_the_last_bits_are_random():
    ends = {new_id()[-12:] for _ in range(1000)}
    assert len(ends) == 1000
