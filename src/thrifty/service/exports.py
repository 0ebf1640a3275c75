"""The log of an experiment as a table."""

import json
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import Connection

from thrifty.service.experiment import DECISION, EXPIRED, REWARD
from thrifty.service.store import Event, find_decisions, read_events

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
                writer.write_table(_table(connection, name, page).cast(schema))
                after = page[-1].seq
        stack.pop_all()  # the file stays open
    file.seek(0)
    return file


def _table(connection: Connection, name: str, page: list[Event]) -> pa.Table:
    ids = [event.decision for event in page if event.kind == DECISION and event.decision]
    found = find_decisions(connection, name, ids)
    return pa.Table.from_pylist([_row(found[id]) for id in ids], schema=SCHEMA)


def _row(events: dict[str, Event]) -> dict[str, Any]:
    """A decision, and what came of it."""
    made, last = events[DECISION], events.get(REWARD) or events.get(EXPIRED)
    return {
        **made.body,
        "seq": made.seq,
        "at": made.at,
        "decision": made.decision,
        "reward": None if last is None else last.body["reward"],
        "rewarded_at": None if last is None else last.at,
        "expired": last is not None and last.kind == EXPIRED,
    }
