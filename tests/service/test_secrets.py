"""Secrets appear in no output of a command, in no answer of a server and in no log."""

import logging
import secrets
import sys
import time
import warnings
from urllib.parse import quote

import pytest

from tests.service.postgres import Postgres
from tests.service.servers import serving
from thrifty.cli.app import main
from thrifty.errors import InvalidInput, redacted
from thrifty.service.client import transports
from thrifty.service.storage.store import EventStore
from thrifty.service.storage.tokens import make_token

PASSWORD = "s3cr3t-w0rd"
COMMANDS = {
    "serve": ["serve"],
    "demo": ["serve", "--demo"],
    "open": ["serve", "--host", "0.0.0.0"],
    "audit": ["audit"],
    "audit one": ["audit", "shop"],
    "make": ["tokens", "make", "me", "--scope", "read", "--new"],
    "list": ["tokens", "list"],
    "revoke": ["tokens", "revoke", "0123456789ab"],
}
# by how they fail
STORES = {
    "no server": "postgresql://joe:{}@127.0.0.1:1/shop",
    "no socket": "postgresql://joe@/shop?host=/nowhere&password={}",
    "unknown option": "postgresql://joe:{}@127.0.0.1:1/shop?sslmod=require&sslpassword={}",
    "option of a wrong kind": "postgresql://joe:{}@127.0.0.1:1/shop?sslmode=none&passfile={}",
    "@ in the password": "postgresql://joe:a@{}@127.0.0.1:1/shop",
    "@ and / in the password": "postgresql://joe:a@b/{}@127.0.0.1:1/shop",
    "port that is no number": "postgresql://joe:{}@127.0.0.1:port/shop",
    "no host": "postgresql://joe:{}",
    "another database": "mysql://joe:{}@127.0.0.1/shop",
    "old scheme": "postgres://joe:{}@127.0.0.1/shop",
    "one slash": "postgresql:/joe:{}@127.0.0.1/shop",
    "no scheme": "joe:{}@127.0.0.1/shop",
    "no database": "joe:{}@127.0.0.1",
    "keywords": "host=127.0.0.1 user=joe password={}",
}
PLACES = """
    audit
    audit --head
    tokens
    serve
    run
    run --study
    bound
    report
    experiments list --url
    experiments create
"""


@pytest.fixture
def command(monkeypatch, capfd, tmp_path):
    """Runs `thrifty` in this process; returns its exit code and all that it has written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(transports.time, "sleep", lambda _: None)
    log = logging.getLogger("thrifty")
    level, handlers = log.level, log.handlers[:]

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["thrifty", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        written = capfd.readouterr()
        return ended.value.code, written.out + written.err

    yield run
    log.level, log.handlers[:] = level, handlers


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("store", STORES.values(), ids=STORES)
def test_no_command_shows_the_password_of_a_store_that_cannot_be_used(
    command, tmp_path, store, arguments
):
    code, written = command(*arguments, "--store", store.replace("{}", PASSWORD))
    assert code == 2
    assert written.count("\n") == 1, written
    assert PASSWORD not in written
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("before", ["", "12345/", "a ", "1@"])
@pytest.mark.parametrize("place", PLACES.strip().splitlines())
def test_no_command_shows_the_password_of_a_url_in_another_place(command, place, before):
    url = f"postgresql://joe:{before}{PASSWORD}@127.0.0.1/shop"
    code, written = command(*place.split(), url)
    assert code == 2
    assert PASSWORD not in written


@pytest.mark.postgres
@pytest.mark.slow
def test_no_command_shows_the_password_of_a_store_that_answers(command):
    with Postgres() as database:
        place = f"/postgres?host={database.folder}"
        for store in (
            f"postgresql://postgres:{PASSWORD}@{place}",
            f"postgresql://postgres@{place}&password={PASSWORD}",
        ):
            for arguments in (
                ["audit"],
                ["serve", "--host", "0.0.0.0"],
                ["tokens", "make", "me", "--scope", "read", "--new"],
                *COMMANDS.values(),
            ):
                if arguments != ["serve"]:  # which would run
                    _, written = command(*arguments, "--store", store)
                    assert written
                    assert PASSWORD not in written, arguments


@pytest.fixture(scope="module")
def token(tmp_path_factory):
    """A token of a store, and the path of the store."""
    path = tmp_path_factory.mktemp("tokens") / "store.db"
    store = EventStore(str(path))
    with store.begin() as connection:
        made = make_token(connection, "shop", ["admin"])
    store.close()
    return made, path


VARIANTS = {
    "as it is": "{}",
    "a space before it": " {}",
    "a space after it": "{} ",
    "a line break after it": "{}\n",
    "quotes around it": "'{}'",
    "without its end": "{:.30}",
    "twice": "{0}{0}",
    "of another alphabet": "{}~é§",
    "with its header": "Bearer {}",
}
PLACES = {
    "id": ["tokens", "revoke", "{}"],
    "name": ["tokens", "make", "{}", "--scope", "read"],
    "scope": ["tokens", "make", "me", "--scope", "{}"],
    "command": ["tokens", "{}"],
    "experiment": ["audit", "{}"],
    "one argument too many": ["tokens", "revoke", "0123456789ab", "{}"],
    "option": ["tokens", "list", "--{}"],
}
REMOTE = {
    "url": ["experiments", "list", "--url", "{}"],
    "token": ["experiments", "list", "--url", "http://127.0.0.1:1", "--token", "{}"],
    "changes": ["experiments", "change", "shop", "{}", "--url", "http://127.0.0.1:1"],
    "file": ["experiments", "create", "{}", "--url", "http://127.0.0.1:1"],
}


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("place", (PLACES | REMOTE).items(), ids=lambda place: place[0])
def test_no_command_repeats_a_token(command, token, place, variant):
    secret, path = token
    arguments = [part.replace("{}", variant.format(secret)) for part in place[1]]
    store = ["--store", path] if place[0] in PLACES else []
    _, written = command(*arguments, *store)
    assert written
    assert secret[16:24] not in written, written


@pytest.mark.parametrize("id", ["6789ab_{}", "th_0123456789AB_{}", "{}", "th-0123456789ab-{}"])
def test_what_is_no_token_is_not_repeated_where_one_should_be(command, token, id):
    part = secrets.token_urlsafe(32)
    code, written = command("tokens", "revoke", id.format(part), "--store", token[1])
    assert (code, part[:8] in written) == (2, False)


def test_no_answer_and_no_log_repeats_a_token(tmp_path, caplog):
    caplog.set_level(logging.DEBUG, "thrifty")
    with serving(tmp_path / "s.db") as server:
        path = server.make("shop")
        with server.app.state.service.store.begin() as connection:
            token = make_token(connection, "shop", ["decide"])
        while server.client.get(path).status_code == 200:  # until it is known
            time.sleep(0.01)
        asked = f"{path}/decisions"
        for variant in VARIANTS.values():
            word = variant.format(token)
            text = word.encode()
            header = {"Authorization": text.strip() or b"-"}
            for answer in (
                server.client.get(path, headers=header),
                server.client.get(path, headers={"Authorization": b"Bearer " + text.strip()}),
                server.client.get(f"/v1/experiments/{quote(word)}"),
                server.client.get(f"/{quote(word)}"),
                server.client.get(path, headers={"Host": token}),
                server.client.post(asked, json={word: 1}, headers=header),
                server.client.post(asked, json={"context": word}, headers=header),
            ):
                assert answer.status_code >= 400
                assert token[16:24] not in answer.text
    assert token[16:24] not in caplog.text


@pytest.mark.parametrize(
    "text",
    [
        "th_recommendations of the homepage",
        "a thing: http://127.0.0.1:8080/v1/experiments/a@b.example",
        "pass one as token=, or as --token",
        "password: one of them",
        "http://[::1]:8080 and http://host:8080/path: not what a@b.example asked for",
        "['http://host:8080', 'a@b.example']",
    ],
)
def test_what_is_no_secret_is_shown(text):
    assert redacted(text) == text


def test_a_name_that_is_a_token_is_refused(token):
    store = EventStore(str(token[1]))
    with pytest.raises(InvalidInput, match=r"name: pass who the token is for"), store.begin() as c:
        make_token(c, token[0], ["read"])
    store.close()
