"""Results on disk: a folder per task, and in it a Parquet file per chunk.

A file contains the identity of its task and a digest of its numbers. A file that fails verification
is renamed, with a warning; it is neither used nor deleted.
"""

import hashlib
import io
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from thrifty.errors import BadFile, MissingPackage, SetAside
from thrifty.files import make_folder, slug, write_whole
from thrifty.numerics.arrays import Ints
from thrifty.problem.catalog import Ensemble, Problem, instance_of
from thrifty.problem.instances import Instance
from thrifty.simulation.replication import checkpoints
from thrifty.studies.batches import ARRAYS, Batch, assemble, missing_ranges
from thrifty.studies.results import Result
from thrifty.studies.tasks import CHUNK_REPLICATIONS, Task, digest_of, key_of

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import parquet

Identity = dict[str, Any]  # of a task
Belongs = Callable[[Identity], bool]
RowsOf = Callable[[Identity], int]

FORMAT = 2
_TASK = {1: "question", 2: "task"}  # by format: the key of the task's identity
_COLUMNS, _WIDTH = 9, 16  # columns of a file without pulls, and bytes of a number at most
_MARGIN = 1 << 20  # bytes for headers
# columns whose values repeat: compressed with a dictionary
_REPETITIVE = ["instance", "policy", "label", "replicate", "round", "solves", "unsolved"]
# what unexpected content of a file raises
_MALFORMED = (TypeError, KeyError, ValueError, AttributeError, OverflowError, RecursionError)
CHUNKS = "chunks"  # the folder of Parquet files in a study's folder
INSTANCE = "_instance.toml"  # the instance, beside the Parquet files of a task
RESULTS = "results.json"  # written at the end of a study


class ResultStore:
    """The results in a folder."""

    def __init__(self, folder: Path) -> None:
        MissingPackage.check("run(out=...)", "pyarrow")
        self.folder = folder

    def home(self, task: Task) -> Path:
        """The folder of a task: its name is readable and ends with the task's key."""
        words = (task.problem.name, task.identity["policy"], f"n{task.horizon}", task.key)
        name = "_".join(map(slug, words))
        # Parquet readers skip folders whose names begin with . or _
        return self.folder / (name if name[0].isalnum() else f"instance{name}")

    def write(self, task: Task, batch: Batch) -> None:
        """Write the batch of a chunk atomically."""
        home = self.home(task)
        if not home.is_dir():
            make_folder(home)
        if isinstance(task.problem, Instance) and not (home / INSTANCE).exists():
            task.problem.save(home / INSTANCE)
        write_whole(home / _name(batch), _to_parquet(task.identity, batch))

    def read(self, task: Task) -> list[Batch]:
        """All verified batches of a task; files that fail verification are set aside."""
        batches = []
        for path in _files(self.home(task)):
            try:
                _, batch = _from_parquet(path, task.identity.__eq__, lambda _: task.kept_rows)
                batches.append(batch)
            except _Untrusted as error:
                _set_aside(path, str(error))
            except FileNotFoundError:
                continue  # a concurrent run has set it aside
        return batches


def _files(home: Path) -> list[Path]:
    try:
        return sorted(home.glob("*.parquet"))
    except OSError as error:
        raise BadFile(f"{home}: {error.strerror or error}") from None


class _Untrusted(Exception):
    """The reason why a file failed verification."""


class _Shape(NamedTuple):
    """The sizes of a batch: replications, checkpoints, labels, rows of pulls (0: not kept)."""

    r: int
    c: int
    L: int
    k: int


def _name(batch: Batch) -> str:
    return f"{batch.first:06}-{batch.stop:06}.parquet"


def _set_aside(path: Path, why: str) -> None:
    # Parquet readers skip files whose names begin with _
    aside = next(
        place
        for i in range(1000)
        if not (place := path.with_name(f"_{path.name}.aside{i or ''}")).exists()
    )
    try:
        path.rename(aside)
    except FileNotFoundError:
        return  # a concurrent run has renamed it
    except OSError as error:
        reason = f"{why}, and it cannot be set aside: {error.strerror or error}"
        raise BadFile(f"{path}: {reason}") from None
    warnings.warn(f"{path}: {why}; set aside as {aside.name}", SetAside, stacklevel=3)


def _to_parquet(identity: dict[str, Any], batch: Batch) -> bytes:
    from pyarrow import parquet

    head = {
        "format": FORMAT,
        _TASK[FORMAT]: identity,
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


def _from_parquet(path: Path, belongs: Belongs, rows_of: RowsOf) -> tuple[Identity, Batch]:
    """The identity of the task, which must belong here, and the batch in a file, verified.

    rows_of: the number of rows of the action sets (k) of a task that keeps pulls.
    """
    import pyarrow
    from pyarrow import parquet

    try:
        with open(path, "rb") as raw, parquet.ParquetFile(raw) as file:
            head, shape = _head(file, belongs, rows_of)
            table = file.read()
    except FileNotFoundError:
        raise
    except PermissionError as error:
        raise BadFile(f"{path}: {error.strerror or error}") from None
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        why = " ".join(str(error).split())[:80]
        raise _Untrusted(f"not a readable Parquet file ({why})") from None
    with _as_untrusted():
        identity = head[_TASK[head["format"]]]
        batch = _batch(table, head, shape)
        same = head["digest"] == _digest(identity, batch) and path.name == _name(batch)
        sound = same and _table(identity, batch).equals(table)
    if not sound:
        raise _Untrusted("its numbers do not match its digest")
    return identity, batch


def _head(
    file: "parquet.ParquetFile", belongs: Belongs, rows_of: RowsOf
) -> tuple[dict[str, Any], _Shape]:
    """What a file says about itself, and can have: numbers are decompressed only afterwards."""
    with _as_untrusted():
        written = file.schema_arrow.metadata[b"thrifty"]
        head: dict[str, Any] = json.loads(written)
        identity, replications = head[_TASK[head["format"]]], head["stop"] - head["first"]
        c, L = len(checkpoints(identity["horizon"])), len(identity["labels"])
        ours = belongs(identity)
    if not ours:
        raise _Untrusted("it belongs to another task")
    k = rows_of(identity) if identity.get("pulls") else 0
    with _as_untrusted():
        rows, columns = replications * c * L, _COLUMNS + (k > 0)
        about, numbers = file.metadata, rows * (_COLUMNS + k)
        groups = [about.row_group(i) for i in range(about.num_row_groups)]
        values = sum(of.column(i).num_values for of in groups for i in range(of.num_columns))
        size = sum(group.total_byte_size for group in groups)
        fits = (
            0 < replications <= CHUNK_REPLICATIONS
            and (about.num_rows, about.num_columns) == (rows, columns)
            and values == numbers  # a row of a list may have any number
            and size <= numbers * _WIDTH + 2 * len(written) + _MARGIN
        )
    if not fits:
        raise _Untrusted("its size is not that of its task")
    return head, _Shape(replications, c, L, k)


@contextmanager
def _as_untrusted() -> Iterator[None]:
    """Errors that a file of other content causes, as _Untrusted."""
    import pyarrow

    try:
        yield
    except (*_MALFORMED, pyarrow.ArrowException):
        raise _Untrusted("not a results file of thrifty") from None


def _table(identity: dict[str, Any], batch: Batch) -> "pyarrow.Table":
    """One row per replication, checkpoint and label; column names are part of the file format.

    Pulls are not split by label: like solves, they are the same in the rows of all labels.
    """
    import pyarrow

    r, c, L = batch.regret.shape
    k = batch.pulls.shape[2]

    def named(indices: Ints, names: list[str]) -> Any:
        return pyarrow.DictionaryArray.from_arrays(indices.astype(np.int32), names)

    def lists(numbers: Ints) -> Any:
        ends = np.arange(len(numbers) + 1) * k
        return pyarrow.LargeListArray.from_arrays(ends, numbers.ravel())

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
        | ({"pulls": lists(batch.pulls.reshape(r * c, k).repeat(L, axis=0))} if k else {})
    )


def _batch(table: "pyarrow.Table", head: dict[str, Any], shape: _Shape) -> Batch:
    r, c, L, k = shape

    def column(name: str) -> Any:
        return table.column(name).to_numpy()

    pulls = np.zeros((r, c, 0), np.int64)
    if k:
        every = table.column("pulls").combine_chunks().flatten().to_numpy()
        pulls = np.ascontiguousarray(every.reshape(r, c, L, k)[:, :, 0])
    return Batch(
        first=head["first"],
        regret=column("regret").reshape(r, c, L),
        rounds=column("rounds").reshape(r, c, L),
        pulls=pulls,
        solves=column("solves")[:: c * L],
        unsolved=column("unsolved")[:: c * L],
        seconds=float(head["seconds"]),
    )


def _digest(identity: dict[str, Any], batch: Batch) -> str:
    """A hash of the identity of a task and of all numbers of a batch."""
    head = json.dumps([identity, batch.first, batch.stop], sort_keys=True)
    digest = hashlib.sha256(head.encode())
    for name in ARRAYS:
        digest.update(np.ascontiguousarray(getattr(batch, name)).tobytes())
    return digest.hexdigest()


def read_results(folder: Path) -> tuple[Result, ...]:
    """The results of a completed study in a folder, verified; changes no file."""
    MissingPackage.check("reading results", "pyarrow")
    path = folder / RESULTS
    try:
        entries = json.loads(path.read_text())
        if not isinstance(entries, list) or not entries:
            raise ValueError("a list of results expected")
        return tuple(_read_result(folder, entry) for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        if not folder.is_dir():
            raise BadFile(f"{folder}: no such folder") from None
        advice = f"`thrifty run --study FILE --out {folder}` continues an interrupted one"
        why = f"has no {RESULTS}: pass the folder of a completed study; {advice}"
        raise BadFile(f"{folder} {why}") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise BadFile(f"{path} is not valid JSON ({place})") from None
    except _Untrusted as error:
        raise BadFile(f"{error}; run the study again") from None
    except (OSError, *_MALFORMED) as error:
        raise BadFile(f"{path}: cannot be used: {error}") from None


def _read_result(folder: Path, entry: dict[str, Any]) -> Result:
    """The result of an entry of results.json, from its chunks.

    Each chunk must belong to the task that the entry and the name of the folder describe.
    """
    home = folder / CHUNKS / Path(entry["chunks"]).name
    expected = {key: entry[key] for key in ("policy", "horizon", "seed", "rewards")}
    expected["instance_name"] = entry["instance"]

    def belongs(identity: dict[str, Any]) -> bool:
        return home.name.endswith(f"_{key_of(identity)}") and expected.items() <= identity.items()

    @cache
    def problem(digest: str | None) -> Problem:
        return Ensemble(entry["instance"]) if digest is None else _instance(home, digest)

    def rows_of(identity: dict[str, Any]) -> int:
        return len(instance_of(problem(identity["instance"]), identity["seed"], 0).sets.rows)

    identity: dict[str, Any] = {}
    batches = []
    for path in _files(home):
        try:
            identity, batch = _from_parquet(path, belongs, rows_of)
        except _Untrusted as error:
            raise _Untrusted(f"{path}: {error}") from None
        batches.append(batch)
    replications = int(entry["replications"])
    constant = None if entry["constant"] is None else float(entry["constant"])
    if replications < 1 or missing_ranges(batches, replications):
        raise _Untrusted(f"{home}: replications are missing")
    batch = replace(assemble(batches, replications), seconds=float(entry["seconds"]))
    chunks = f"{CHUNKS}/{home.name}"
    return Result.of(problem(identity["instance"]), identity, batch, constant, chunks)


def _instance(home: Path, digest: str) -> Instance:
    """The instance beside the chunks, which must have a digest."""
    instance = Instance.load(home / INSTANCE)
    if digest_of(instance.to_toml()) != digest:
        raise _Untrusted(f"{home / INSTANCE}: not the instance of these results")
    return instance
