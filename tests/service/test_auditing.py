"""The audit: whatever is changed in a log, and however damaged it is, one line says so."""

import json

import pytest

from tests.command_line import thrifty
from tests.service.test_experiment import LISTED, Player, settings_of
from thrifty.cli.serving import audit_sentence
from thrifty.service.server.auditing import audit
from thrifty.service.server.loading import load, take_snapshot
from thrifty.service.server.views import experiment_line
from thrifty.service.storage.store import (
    EMPTY,
    add_experiment,
    append,
    chained,
    find_decisions,
    last_events,
    open_store,
    raw_events,
    save_snapshot,
    set_status,
    set_summary,
)
from thrifty.service.storage.tables import EVENTS, EXPERIMENTS, SNAPSHOTS

DAMAGED_SUMMARIES = [
    "",
    "{",
    "[]",
    "[" * 100_000,
    b"\xff",
    5,
    '{"seq": "5", "line": {}}',
    '{"seq": true, "line": {}}',
    '{"seq": 0, "line": {}}',
    '{"seq": 5, "line": []}',
    '{"line": {}}',
    '{"seq": 5}',
]


@pytest.fixture
def logged(tmp_path):
    """A store with the log of an experiment, and who has played it."""
    with open_store(str(tmp_path / "s.db")) as store, store.begin() as connection:
        yield connection, write_log(connection)


def write_log(connection):
    player = Player(settings_of("lints", LISTED)).play(80)
    add_experiment(connection, "tried", player.log[0].at)
    append(connection, "tried", player.log, EMPTY)
    set_status(connection, "tried", player.experiment.status)
    return player


def rewrite(connection, event, **values):
    where = (EVENTS.c.experiment == "tried") & (EVENTS.c.seq == event.seq)
    connection.execute(EVENTS.update().where(where).values(**values))


def forge(connection):
    """Compute all digests again, as somebody who hides a change would."""
    head = ""
    for row in list(raw_events(connection, "tried")):
        head = chained(head, "tried", row.seq, row.kind, row.at, row.decision, row.body)
        rewrite(connection, row, digest=head)


def loaded(connection, name="tried"):
    """The experiment as a server reads it."""
    steps = load(connection, name)
    try:
        while True:
            next(steps)
    except StopIteration as end:
        return end.value.loaded.experiment


def first(player, kind):
    return next(event for event in player.log if event.kind == kind)


def test_an_untouched_log_passes_and_loading_gives_the_state(logged):
    connection, player = logged
    found = audit(connection, "tried")
    decisions = sum(event.kind == "decision" for event in player.log)
    assert found[:5] == (len(player.log) - 1, decisions, 0, None, "")
    assert (found.last, len(found.head)) == (player.log[-1].seq, 64)
    assert "all the same" in audit_sentence("tried", found)
    assert loaded(connection).to_bytes() == player.experiment.to_bytes()


@pytest.mark.parametrize(
    "change",
    [{"body": "{}"}, {"at": 5}, {"kind": "changed"}, {"decision": "other"}, {"digest": None}],
    ids=lambda change: next(iter(change)),
)
def test_any_change_of_an_event_is_found_where_it_is(logged, change):
    connection, player = logged
    event = first(player, "reward")
    rewrite(connection, event, **change)
    assert audit(connection, "tried").seq == event.seq


def test_the_first_decision_that_was_tampered_with_is_named(logged):
    connection, player = logged
    made = [event for event in player.log if event.kind == "decision"]
    for event in (made[20], made[5]):
        body = {**event.body, "gap": event.body["gap"] + 1e-15}
        rewrite(connection, event, body=json.dumps(body))
    forge(connection)
    found = audit(connection, "tried")
    assert found.seq == made[5].seq
    assert audit_sentence("tried", found).startswith(f"tried: event {made[5].seq} differs: ")


def test_another_reward_is_found_by_the_decisions_after_it(logged):
    connection, player = logged
    event = first(player, "reward")
    rewrite(connection, event, body=json.dumps({"reward": event.body["reward"] + 1}))
    forge(connection)
    later = [one.seq for one in player.log if one.kind == "decision" and one.seq > event.seq]
    assert audit(connection, "tried").seq in later


def test_another_reward_is_found_by_the_snapshot_after_it(logged):
    connection, player = logged
    save_snapshot(connection, "tried", take_snapshot(player.experiment))
    assert audit(connection, "tried").seq is None
    last = [event for event in player.log if event.kind == "reward"][-1]
    rewrite(connection, last, body=json.dumps({"reward": 5.0}))
    forge(connection)
    assert audit(connection, "tried").seq is not None


def test_a_forged_log_differs_from_a_head_that_was_kept_elsewhere(logged):
    connection, player = logged
    kept = audit(connection, "tried")
    heads = {kept.last: kept.head}
    assert audit(connection, "tried", heads=heads).seq is None
    last = [event for event in player.log if event.kind == "reward"][-1]
    rewrite(connection, last, body=json.dumps({"reward": 5.0}))
    forge(connection)
    assert audit(connection, "tried", heads=heads).seq is not None
    connection.execute(EVENTS.delete().where(EVENTS.c.seq >= last.seq))
    found = audit(connection, "tried", heads=heads)
    assert found.difference == f"it is missing, and so is all up to {kept.last}, known elsewhere"


@pytest.mark.parametrize("witness", ["snapshot", "summary"])
def test_a_missing_end_is_found_if_anything_has_seen_it(logged, witness):
    connection, player = logged
    if witness == "snapshot":
        save_snapshot(connection, "tried", take_snapshot(player.experiment))
    else:
        set_summary(connection, "tried", player.experiment.seq, {})
    last = player.log[-1].seq
    connection.execute(EVENTS.delete().where(EVENTS.c.seq == last))
    found = audit(connection, "tried")
    assert (found.seq, found.difference) == (
        last,
        f"it is missing, and so is all up to {last}, known elsewhere",
    )


def test_a_log_that_names_other_code_is_not_left_out_if_a_snapshot_is_of_this_code(logged):
    connection, player = logged
    save_snapshot(connection, "tried", take_snapshot(player.experiment))
    body = {**player.log[0].body, "code": "another"}
    rewrite(connection, player.log[0], body=json.dumps(body))
    forge(connection)
    found = audit(connection, "tried")
    assert found.seq == 1
    assert found.difference.startswith("it says that other code made the log, but the snapshot")


def test_an_event_that_makes_no_sense_is_found(logged):
    connection, player = logged
    event = first(player, "reward")
    rewrite(connection, event, decision="never made")
    forge(connection)
    found = audit(connection, "tried")
    assert (found.seq, found.difference) == (
        event.seq,
        "it cannot be carried out (KeyError: 'never made')",
    )


def test_an_event_that_was_removed_is_found(logged):
    connection, _ = logged
    connection.execute(EVENTS.delete().where(EVENTS.c.seq == 7))
    found = audit(connection, "tried")
    assert (found.seq, found.difference) == (8, "event 7 is missing")


@pytest.mark.parametrize(
    ("seq", "body"),
    [
        (1, "{}"),
        (1, "[]"),
        (1, '{"settings": {"policy": "nobody"}}'),
        (2, "not JSON"),
        (2, "[1]"),
        (2, "{}"),
        (2, "[" * 100_000),
        (2, b"\xff\x00"),
        (2, 5),
    ],
)
def test_a_damaged_event_is_one_line(logged, seq, body):
    connection, player = logged
    for forged in (False, True):
        query = "UPDATE events SET body = ? WHERE seq = ?"
        connection.exec_driver_sql(query, (body, seq))
        if forged:
            forge(connection)
        found = audit(connection, "tried")
        # without its code, the rest of the log is not carried out
        assert found.seq == seq or (forged and seq == 1 and found.unverified == len(player.log))
        assert "\n" not in found.difference


@pytest.mark.parametrize("state", [b"", b"no state", b"{}\n{}", b"\xff" * 100])
def test_a_damaged_snapshot_is_one_line(logged, state):
    connection, player = logged
    save_snapshot(connection, "tried", take_snapshot(player.experiment))
    connection.execute(SNAPSHOTS.update().values(state=state))
    found = audit(connection, "tried")
    assert found.difference == "the state after it is not that of the snapshot"


def test_a_log_without_events_is_one_line(logged):
    connection, _ = logged
    connection.execute(EVENTS.delete())
    assert audit(connection, "tried").difference == "there is no event"


def test_events_before_the_first_are_found_and_answer_nothing(logged):
    connection, player = logged
    forged = first(player, "decision")
    for seq in (0, -5):
        body, digest = json.dumps(forged.body), "0" * 64
        row = {"experiment": "tried", "seq": seq, "kind": "decision", "at": forged.at}
        row |= {"decision": f"forged {seq}", "body": body, "digest": digest}
        connection.execute(EVENTS.insert().values(row))
    found = audit(connection, "tried")
    assert (found.seq, found.difference) == (-5, "its number is -5: a log begins with event 1")
    assert find_decisions(connection, "tried", ["forged 0", "forged -5"]) == {}
    decisions = [event.seq for event in player.log if event.kind == "decision"]
    shown = last_events(connection, "tried", "decision", 1_000)
    assert [event.seq for event in shown] == decisions[::-1]


def test_an_event_whose_number_is_none_is_one_line(logged):
    connection, player = logged
    rewrite(connection, player.log[-1], seq="last")
    found = audit(connection, "tried")
    wrong = "its number is 'last': a log begins with event 1"
    assert (found.seq, found.difference) == (player.log[-1].seq, wrong)


def test_another_status_in_the_list_is_found(logged):
    connection, player = logged
    connection.execute(EXPERIMENTS.update().values(status="archived"))
    found = audit(connection, "tried")
    status = player.experiment.status
    assert found.difference == f"it is missing: the list says archived, the log {status}"


def test_another_line_of_the_list_is_found(logged):
    connection, player = logged
    line, seq = experiment_line(player.experiment), player.experiment.seq
    set_summary(connection, "tried", seq, line)
    assert audit(connection, "tried").seq is None
    line["counts"]["rewards"] += 1
    set_summary(connection, "tried", seq, line)
    found = audit(connection, "tried")
    assert (found.seq, found.difference) == (seq, "what the list shows after it is something else")


@pytest.mark.parametrize("text", DAMAGED_SUMMARIES)
def test_a_damaged_line_of_the_list_is_one_line(logged, text):
    connection, _ = logged
    connection.exec_driver_sql("UPDATE experiments SET summary = ?", (text,))
    assert audit(connection, "tried").difference == "what the list shows cannot be read"


def test_a_snapshot_whose_number_is_none_is_skipped_and_found(logged):
    connection, player = logged
    for seq in ("newest", 10.5):
        save_snapshot(connection, "tried", take_snapshot(player.experiment))
        connection.execute(SNAPSHOTS.update().values(seq=seq))
        assert loaded(connection).to_bytes() == player.experiment.to_bytes()
        found = audit(connection, "tried")
        assert found.difference == f"there is a snapshot after event {seq!r}"
        connection.execute(SNAPSHOTS.delete())


def command(store, *options):
    done = thrifty("audit", "--store", str(store), *options)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return done.returncode, [line for line in lines if line != f"thrifty: store: {store}"]


@pytest.mark.slow
def test_the_command_checks_heads_and_finds_experiments_that_no_list_has(tmp_path):
    path = tmp_path / "s.db"
    with open_store(str(path)) as store:
        with store.begin() as connection:
            player = write_log(connection)
            digest, last = audit(connection, "tried").head, player.log[-1].seq
        code, [line] = command(path)
        head = line.rpartition("head ")[2]
        assert (code, head) == (0, f"tried:{last}:{digest[:12]}")
        assert command(path, "--head", head)[0] == 0
        code, [line] = command(path, "--head", f"tried:{last}:{'0' * 12}")
        wrong = f"tried: event {last} differs: its digest does not begin with {'0' * 12}"
        assert (code, line) == (1, wrong)
        code, [line] = command(path, "--head", "tried:5")
        assert (code, line.split(": ")[1]) == (2, "--head")
        assert command(path, "--head", f"other:1:{'0' * 12}")[0] == 2
        with store.begin() as connection:
            connection.execute(EXPERIMENTS.delete())
        code, [line] = command(path)
        assert (code, line) == (1, "tried: event 1 differs: it is in no list of experiments")
