"""What a store may be: commands leave databases of other programs alone, and only read what they
read.
"""

import os
import pwd
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.command_line import thrifty
from tests.service.postgres import Postgres
from thrifty.errors import BadFile, InvalidInput
from thrifty.service.storage import databases
from thrifty.service.storage.store import EventStore, open_store
from thrifty.service.storage.tokens import list_tokens, make_token

USES = ("serve", "add", "change", "read")
PATHS = [
    "what?.db",
    "100%.db",
    "a%20b.db",
    "a#b.db",
    "a b.db",
    "für Änne.db",
    "a&b=c.db",
    "file:x.db",
]


def contents(path):
    """What is in the folder of a file, if it is one."""
    folder = Path(path).parent
    found = folder.iterdir() if Path(path).is_file() else ()
    return {path.name: path.read_bytes() for path in found if path.is_file()}


def made(path):
    """A store with a token, which nobody has open."""
    with open_store(str(path)) as store, store.begin() as connection:
        make_token(connection, "joe", ["admin"])
    return str(path)


def names(url):
    with open_store(url, "read") as store, store.reading() as connection:
        return [token.name for token in list_tokens(connection)]


def refusal(path, use):
    """The sentence with which a store is refused; the folder is as before."""
    before = contents(path)
    with (
        pytest.raises((BadFile, InvalidInput)) as refused,
        open_store(str(path), use) as store,
        store.reading() as connection,
    ):
        list_tokens(connection)
    assert contents(path) == before
    assert "\n" not in str(refused.value)
    return str(refused.value)


def database_of(path, *statements):
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return path


@pytest.mark.parametrize("use", USES)
def test_databases_of_other_programs_are_left_alone(tmp_path, use):
    for path in (
        database_of(tmp_path / "shop.db", "CREATE TABLE orders (id INTEGER)"),
        database_of(tmp_path / "same.db", "CREATE TABLE events (id INTEGER)"),
        database_of(
            tmp_path / "migrated.db",
            "CREATE TABLE alembic_version (version_num VARCHAR(32))",
            "INSERT INTO alembic_version VALUES ('0001')",
        ),
    ):
        assert "not a store of thrifty: it has tables of another program" in refusal(path, use)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    "mark", ["CREATE VIEW v AS SELECT 1", "PRAGMA application_id=1234", "PRAGMA user_version=7"]
)
def test_databases_of_other_programs_without_tables_are_left_alone(tmp_path, use, mark):
    said = refusal(database_of(tmp_path / "other.db", mark), use)
    assert "not a store of thrifty: it " in said
    assert "another program" in said


@pytest.mark.parametrize("options", ["timeout=abc", "timeout=1&timeout=2", "detect_types=1e9"])
def test_options_that_cannot_be_used_are_refused(tmp_path, options):
    store = f"sqlite:///{made(tmp_path / 'x.db')}?{options}"
    with pytest.raises(InvalidInput, match=r"^store: an option after the question mark"):
        EventStore(store)
    EventStore(store.replace(options, "timeout=5")).close()


@pytest.mark.parametrize(
    "store",
    [
        f"postgresql://joe@{64 * 'a'}/shop",
        f"postgresql://joe@/shop?host=/tmp,{64 * 'a'}",
        "postgresql://joe@a..b/shop",
        "postgresql://joe@host/sh\udcffop",
        "postgresql://joe:\udcff@host/shop",
    ],
)
def test_urls_that_no_server_can_have_are_refused(store):
    with pytest.raises(InvalidInput, match=r"^store: "):
        EventStore(store)


@pytest.mark.parametrize("use", USES)
def test_what_is_no_database_is_refused(tmp_path, use):
    text = tmp_path / "notes.txt"
    text.write_text("not a database\n" * 1000)
    assert refusal(text, use) == f"{text}: the store cannot be used: file is not a database"
    assert refusal(tmp_path, use) == f"{tmp_path}: a folder; pass the path of a file"
    assert refusal("/dev/null", use).startswith("/dev/null: a device or a pipe; ")
    assert "must be a file" in refusal(":memory:", use)
    assert "must be a file" in refusal("", use)
    assert "must be a file" in refusal("sqlite:///file:x.db?mode=memory&uri=true", use)


def test_an_empty_file_becomes_a_store_only_where_one_is_made(tmp_path):
    path = tmp_path / "empty.db"
    path.touch()
    for use in ("read", "change"):
        assert refusal(path, use).startswith(f"{path}: not a store of thrifty: it is empty; ")
    made(path)
    assert names(str(path)) == ["joe"]


@pytest.mark.slow
def test_commands_refuse_in_a_sentence(tmp_path):
    path = database_of(tmp_path / "shop.db", "CREATE TABLE orders (id INTEGER)")
    before = contents(path)
    for command in (
        ["audit"],
        ["tokens", "list"],
        ["tokens", "revoke", "0123456789ab"],
        ["tokens", "make", "joe", "--scope", "read"],
        ["serve", "--port", "0"],
    ):
        done = thrifty(*command, "--store", path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert done.stderr.startswith(f"thrifty: {path}: not a store of thrifty: ")
    assert contents(path) == before


@pytest.fixture
def next_version(tmp_path_factory, monkeypatch):
    """A later version of thrifty, with a schema of its own, until the end of a context."""
    folder = tmp_path_factory.mktemp("later") / "migrations"
    shutil.copytree(databases.MIGRATIONS, folder)
    head = databases.newest()
    (folder / "versions" / "9999_later.py").write_text(
        f"revision, down_revision = '9999', {head!r}\n\n\ndef upgrade():\n    pass\n"
    )

    @contextmanager
    def later():
        with monkeypatch.context() as patch:
            patch.setattr(databases, "MIGRATIONS", folder)
            yield

    return later


def test_only_a_server_updates_a_store(tmp_path, next_version):
    path = made(tmp_path / "store.db")
    with next_version():
        for use in ("read", "change", "add"):
            assert "start thrifty serve once" in refusal(path, use)
        EventStore(path).close()
        assert names(path) == ["joe"]
    for use in USES:
        assert refusal(path, use).endswith("store.db: a newer version of thrifty has made it")


@pytest.mark.parametrize("name", PATHS)
def test_a_path_may_have_any_characters(tmp_path, name):
    path = made(tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert names(path) == ["joe"]


def test_a_url_is_a_url(tmp_path):
    made(tmp_path / "a b.db")
    assert names(f"sqlite:///{tmp_path}/a%20b.db?timeout=3") == ["joe"]


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])  # a back-up by VACUUM has the second
def test_reading_leaves_nothing_behind(tmp_path, mode):
    path = database_of(made(tmp_path / "store.db"), f"PRAGMA journal_mode={mode}")
    before = contents(path)
    assert names(path) == ["joe"]
    assert contents(path) == before


@pytest.fixture
def locked_folder():
    """A folder that everybody may read, and a context in which this process cannot write there."""
    folder = Path(tempfile.mkdtemp(prefix="thrifty-", dir="/tmp"))  # above it, all may look

    @contextmanager
    def locked():
        for path in folder.iterdir():
            path.chmod(0o444)
        folder.chmod(0o555)
        root = os.geteuid() == 0  # whom permissions do not keep from writing
        if root:
            os.seteuid(pwd.getpwnam("nobody").pw_uid)
        try:
            yield
        finally:
            if root:
                os.seteuid(0)
            folder.chmod(0o755)

    yield folder, locked
    shutil.rmtree(folder)


def test_a_store_is_read_where_nothing_can_be_written(locked_folder):
    folder, locked = locked_folder
    path = made(folder / "store.db")
    with locked():
        assert names(path) == ["joe"]
        with pytest.raises(BadFile, match=r"store\.db: .*readonly"):
            EventStore(path)


HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("UPDATE tokens SET name = 'ann'")
connection.commit()
print("written", flush=True)
sys.stdin.read()
"""


def test_what_a_running_service_has_written_is_read_where_nothing_can_be_written(locked_folder):
    folder, locked = locked_folder
    path = made(folder / "store.db")
    holding = [sys.executable, "-c", HOLD, path]
    with subprocess.Popen(holding, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as service:
        service.stdout.readline()
        assert (folder / "store.db-wal").stat().st_size > 0
        with locked():
            assert names(path) == ["ann"]


def test_a_file_that_is_written_while_it_is_read_is_not_trusted(tmp_path):
    path = made(tmp_path / "store.db")
    with (
        pytest.raises(BadFile, match="was written while it was read; run the command again"),
        open_store(path, "read") as store,
        store.reading(),
    ):
        database_of(path, "DELETE FROM tokens")


def test_a_damaged_file_is_a_sentence_wherever_it_is_noticed(tmp_path):
    path = Path(made(tmp_path / "store.db"))
    with path.open("r+b") as file:
        file.seek(4096)  # beyond the schema
        file.write(b"x" * (path.stat().st_size - 4096))
    with pytest.raises(BadFile, match=r"store\.db: the store cannot be used: .*malformed"):
        names(str(path))


@pytest.fixture(scope="module")
def postgres():
    with Postgres() as started:
        yield started


@pytest.mark.postgres
@pytest.mark.slow
@pytest.mark.parametrize("use", USES)
def test_tables_of_other_programs_in_postgresql(postgres, use):
    url = postgres.make_database(f"clash-{use}")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32))")
    with pytest.raises(BadFile, match="tables of another program"):
        EventStore(url, use)
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE alembic_version")
        connection.execute("CREATE TABLE orders (id INTEGER)")
    if use in ("serve", "add"):  # beside which there is room
        EventStore(url, use).close()
    else:
        with pytest.raises(BadFile, match="it is empty"):
            EventStore(url, use)


@pytest.mark.postgres
@pytest.mark.slow
def test_reading_postgresql_writes_nothing(postgres):
    url = postgres.make_database("reading")
    made(url)
    assert names(url) == ["joe"]
    with (
        pytest.raises(BadFile, match="read-only"),
        open_store(url, "read") as store,
        store.begin() as connection,
    ):
        make_token(connection, "ann", ["read"])
    assert names(url) == ["joe"]
