"""Answers on disk: a folder for each task, a Parquet file for each chunk, readable with any
tool that reads Parquet.

A file carries the identity of its task and a digest of its numbers. What does not match is
named and set aside, never trusted, never deleted.
"""

import hashlib
import io
import json
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.errors import BadFile, SetAside
from thrifty.files import make_folder, write_whole
from thrifty.numerics.arrays import Ints
from thrifty.problem.catalog import Ensemble
from thrifty.problem.instances import Instance
from thrifty.simulation.replication import checkpoints
from thrifty.studies.batches import Batch, assemble, missing_ranges
from thrifty.studies.results import Result
from thrifty.studies.tasks import Task, digest_of, key_of

if TYPE_CHECKING:
    import pyarrow

FORMAT = 1
_REPETITIVE = ["instance", "policy", "label", "replicate", "round", "solves", "unsolved"]
CHUNKS = "chunks"  # where a study's folder has its Parquet files
INSTANCE = "_instance.toml"  # beside them, what was played
RESULTS = "results.json"  # what a study writes when it has ended


class Store:
    """The answers in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def home(self, task: Task) -> Path:
        """The folder of a task's answers: its name is for people, the hash at its end is what
        counts.
        """
        words = (
            task.problem.name,
            str(task.identity["policy"]),
            f"n{task.horizon}",
            task.key,
        )
        name = "_".join(re.sub(r"[^A-Za-z0-9.-]+", "-", word)[:40] for word in words)
        # readers of folders pass over names that begin with . or _
        return self.folder / (name if name[0].isalnum() else f"instance{name}")

    def write(self, task: Task, batch: Batch) -> None:
        """Keep an answer, whole or not at all."""
        home = self.home(task)
        if not home.is_dir():
            make_folder(home)
        if isinstance(task.problem, Instance) and not (home / INSTANCE).exists():
            task.problem.save(home / INSTANCE)
        write_whole(home / _name(batch), _to_parquet(task.identity, batch))

    def read(self, task: Task) -> list[Batch]:
        """All answers to a task that can be trusted; other files are set aside."""
        batches = []
        for path in _files(self.home(task)):
            try:
                found, batch = _from_parquet(path)
                if found != task.identity:
                    raise _Untrusted("it answers another question")
                batches.append(batch)
            except _Untrusted as error:
                _set_aside(path, str(error))
            except FileNotFoundError:
                continue  # another run has just set it aside
        return batches


def _files(home: Path) -> list[Path]:
    try:
        return sorted(home.glob("*.parquet"))
    except OSError as error:
        raise BadFile(f"{home}: {error.strerror or error}") from None


class _Untrusted(Exception):
    """Why a file is not what its name says."""


def _name(batch: Batch) -> str:
    return f"{batch.first:06}-{batch.stop:06}.parquet"


def _set_aside(path: Path, why: str) -> None:
    # readers of whole folders pass over names that begin with _
    aside = next(
        place
        for i in range(1000)
        if not (place := path.with_name(f"_{path.name}.aside{i or ''}")).exists()
    )
    try:
        path.rename(aside)
    except FileNotFoundError:
        return  # another run was faster
    except OSError as error:
        raise BadFile(
            f"{path}: {why}, and it cannot be set aside: {error.strerror or error}"
        ) from None
    warnings.warn(f"{path}: {why}; set aside as {aside.name}", SetAside, stacklevel=3)


def _to_parquet(identity: dict[str, Any], batch: Batch) -> bytes:
    from pyarrow import parquet

    head = {
        "format": FORMAT,
        "question": identity,
        "first": batch.first,
        "stop": batch.stop,
        "seconds": batch.seconds,
        "digest": _digest(identity, batch),
    }
    file = io.BytesIO()
    table = _table(identity, batch).replace_schema_metadata({b"thrifty": json.dumps(head).encode()})
    parquet.write_table(
        table, file, compression="zstd", use_dictionary=_REPETITIVE, write_statistics=False
    )
    return file.getvalue()


def _from_parquet(path: Path) -> tuple[dict[str, Any], Batch]:
    """The task and the answer in a file, if every number is as it was written."""
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.read_table(path, partitioning=None)
    except FileNotFoundError:
        raise
    except PermissionError as error:
        raise BadFile(f"{path}: {error.strerror or error}") from None
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise _Untrusted(
            f"not a readable Parquet file ({' '.join(str(error).split())[:80]})"
        ) from None
    try:
        head = json.loads(table.schema.metadata[b"thrifty"])
        identity = head["question"]
        batch = _batch(table, head, len(checkpoints(identity["horizon"])), len(identity["labels"]))
        sound = (
            head["format"] == FORMAT
            and head["digest"] == _digest(identity, batch)
            and path.name == _name(batch)
            and _table(identity, batch).equals(table)
        )
    except (
        TypeError,
        KeyError,
        ValueError,
        AttributeError,
        OverflowError,
        RecursionError,
        pyarrow.ArrowException,
    ):
        raise _Untrusted("not a file of thrifty's results") from None
    if not sound:
        raise _Untrusted("its numbers are not those that were written")
    return identity, batch


def _table(identity: dict[str, Any], batch: Batch) -> "pyarrow.Table":
    """One row for each replicate, checkpoint and label."""
    import pyarrow

    r, c, L = batch.regret.shape

    def named(indices: Ints, names: list[str]) -> Any:
        return pyarrow.DictionaryArray.from_arrays(indices.astype(np.int32), names)

    return pyarrow.table(
        {
            "instance": named(np.zeros(r * c * L, dtype=np.int64), [identity["instance_name"]]),
            "policy": named(np.zeros(r * c * L, dtype=np.int64), [identity["policy"]]),
            "replicate": np.repeat(np.arange(batch.first, batch.stop), c * L),
            "round": np.tile(np.repeat(checkpoints(identity["horizon"]), L), r),
            "label": named(np.tile(np.arange(L), r * c), identity["labels"]),
            "rounds": batch.rounds.ravel(),
            "regret": batch.regret.ravel(),
            "solves": np.repeat(batch.solves, c * L),
            "unsolved": np.repeat(batch.unsolved, c * L),
        }
    )


def _batch(table: "pyarrow.Table", head: dict[str, Any], c: int, L: int) -> Batch:
    column = {
        name: table.column(name).to_numpy() for name in ("rounds", "regret", "solves", "unsolved")
    }
    shape = (head["stop"] - head["first"], c, L)
    return Batch(
        first=head["first"],
        regret=column["regret"].reshape(shape),
        rounds=column["rounds"].reshape(shape),
        solves=column["solves"][:: c * L],
        unsolved=column["unsolved"][:: c * L],
        seconds=float(head["seconds"]),
    )


def _digest(identity: dict[str, Any], batch: Batch) -> str:
    """A hash of the task and of all numbers of its answer."""
    digest = hashlib.sha256(
        json.dumps([identity, batch.first, batch.stop], sort_keys=True).encode()
    )
    for array in (batch.regret, batch.rounds, batch.solves, batch.unsolved):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def read_results(folder: Path) -> tuple[Result, ...]:
    """The results of a study that has been kept in a folder; nothing is changed there."""
    path = folder / RESULTS
    try:
        entries = json.loads(path.read_text())
        if not isinstance(entries, list) or not entries:
            raise ValueError("a list of results expected")
        return tuple(_read_result(folder, entry) for entry in entries)
    except FileNotFoundError:
        raise BadFile(
            f"{path}: not there; is {folder} the folder of a study that has ended? "
            f"`thrifty run --study FILE --out {folder}` goes on"
        ) from None
    except _Untrusted as error:
        raise BadFile(f"{error}; run the study again") from None
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise BadFile(f"{path}: cannot be used: {error}") from None


def _read_result(folder: Path, entry: dict[str, Any]) -> Result:
    """What an entry of results.json speaks of, from its chunks, which must be what the entry and
    the name of their folder say.
    """
    home = folder / CHUNKS / Path(entry["chunks"]).name
    asked = {key: entry[key] for key in ("policy", "horizon", "seed", "rewards")} | {
        "instance_name": entry["instance"]
    }
    identity: dict[str, Any] = {}
    batches = []
    for path in _files(home):
        identity, batch = _from_parquet(path)
        if not home.name.endswith(f"_{key_of(identity)}") or any(
            identity[key] != value for key, value in asked.items()
        ):
            raise _Untrusted(f"{path}: it answers another question")
        batches.append(batch)
    replications, constant = int(entry["replications"]), entry["constant"]
    if replications < 1 or missing_ranges(batches, replications):
        raise _Untrusted(f"{home}: replications are missing")
    batch = assemble(batches, replications)
    return Result(
        instance=Ensemble(identity["instance_name"])
        if identity["instance"] is None
        else _instance(home, identity["instance"]),
        policy=identity["policy"],
        labels=tuple(identity["labels"]),
        seed=identity["seed"],
        rewards=identity["rewards"],
        times=checkpoints(identity["horizon"]),
        regret=batch.regret,
        rounds=batch.rounds,
        solves=batch.solves,
        unsolved=batch.unsolved,
        seconds=float(entry["seconds"]),
        constant=None if constant is None else float(constant),
        chunks=f"{CHUNKS}/{home.name}",
    )


def _instance(home: Path, digest: str) -> Instance:
    found = Instance.load(home / INSTANCE)
    if digest_of(found.to_toml()) != digest:
        raise _Untrusted(f"{home / INSTANCE}: not the instance that was played")
    return found
