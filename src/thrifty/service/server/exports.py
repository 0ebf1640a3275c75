"""The log of an experiment as a table."""

import json
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import Connection

from thrifty.service.server.experiment import DECISION, EXPIRED, outcome
from thrifty.service.storage.store import Event, find_decisions, read_events

SCHEMA = pa.schema(
    [
        ("seq", pa.int64()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("decision", pa.string()),
        ("context", pa.string()),
        ("features", pa.list_(pa.list_(pa.float64()))),  # of the arms on offer
        ("names", pa.list_(pa.string())),
        ("available", pa.list_(pa.string())),
        ("arm", pa.int64()),
        ("name", pa.string()),
        ("label", pa.string()),
        ("probability", pa.float64()),
        ("gap", pa.float64()),
        ("reward", pa.float64()),
        ("rewarded_at", pa.timestamp("us", tz="UTC")),
        ("expired", pa.bool_()),
    ]
)


def parquet(connection: Connection, name: str, after: int = 0) -> IO[bytes]:
    """A Parquet file with a row per decision after a sequence number, and its reward.

    It is a temporary file, written a page of the log at a time: a log may be longer than memory.
    """
    schema = SCHEMA.with_metadata({"experiment": json.dumps(name)})
    with ExitStack() as stack:
        file = stack.enter_context(TemporaryFile())
        with pq.ParquetWriter(file, schema) as writer:
            while page := read_events(connection, name, after):
                rows = _rows(connection, name, page)
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))
                after = page[-1].seq
        stack.pop_all()  # the file stays open
    file.seek(0)
    return file


def _rows(connection: Connection, name: str, page: list[Event]) -> list[dict[str, Any]]:
    """A row per decision of a page; what came of it may be on a later one."""
    events: dict[str, dict[str, Event]] = {}
    for event in page:
        if event.kind == DECISION and event.decision is not None:
            events[event.decision] = {DECISION: event}
        elif event.decision in events:
            events[event.decision][event.kind] = event
    pending = [id for id, about in events.items() if outcome(about) is None]
    return [_row(about) for about in (events | find_decisions(connection, name, pending)).values()]


def _row(events: dict[str, Event]) -> dict[str, Any]:
    """A decision, and what came of it."""
    decision, ended = events[DECISION], outcome(events)
    return {
        **decision.body,
        "seq": decision.seq,
        "at": decision.at,
        "decision": decision.decision,
        "reward": None if ended is None else ended.body["reward"],
        "rewarded_at": None if ended is None else ended.at,
        "expired": ended is not None and ended.kind == EXPIRED,
    }
