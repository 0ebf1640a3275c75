"""The log of an experiment as a table."""

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import Connection

from thrifty.service.experiment import DECISION, EXPIRED, REWARD
from thrifty.service.store import Event, all_events

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


def parquet(connection: Connection, name: str, after: int = 0) -> bytes:
    """A Parquet file with a row per decision after a sequence number, and its reward."""
    rows: dict[str, dict[str, Any]] = {}
    for event in all_events(connection, name, after):
        if event.kind == DECISION:
            assert event.decision is not None
            rows[event.decision] = _row(event)
        elif event.kind in (REWARD, EXPIRED) and event.decision in rows:
            row = rows[event.decision]
            row["reward"], row["rewarded_at"] = event.body["reward"], event.at
            row["expired"] = event.kind == EXPIRED
    table = pa.Table.from_pylist(list(rows.values()), schema=SCHEMA)
    table = table.replace_schema_metadata({"experiment": json.dumps(name)})
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def _row(event: Event) -> dict[str, Any]:
    return {
        **event.body,
        "seq": event.seq,
        "at": event.at,
        "decision": event.decision,
        "expired": False,
    }
