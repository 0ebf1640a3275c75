"""Files: written whole, through links and with their mode, and read up to a size."""

import os
import socket
import stat
from pathlib import Path

import pytest

import thrifty as th
from thrifty.files import make_folder, read_toml, write_whole

INSTANCE = "theta = [1]\n[[contexts]]\narms = [[1]]\n"


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_link_stays_and_its_target_is_written(tmp_path):
    (tmp_path / "away").mkdir()
    target, link, chain = tmp_path / "away" / "x", tmp_path / "link", tmp_path / "chain"
    link.symlink_to("away/x")
    chain.symlink_to(link)
    for content in ("new", "old"):  # the first finds links that point to nothing
        write_whole(chain, content)
        assert target.read_text() == content
    assert (link.is_symlink(), chain.is_symlink()) == (True, True)
    assert list(target.parent.iterdir()) == [target]


def test_a_replaced_file_is_never_seen_in_part(tmp_path):
    target, link = tmp_path / "x", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with target.open() as reader:
        write_whole(link, "new")
        assert reader.read() == "old"


@pytest.mark.parametrize("bits", [0o600, 0o640, 0o755])
def test_an_existing_file_keeps_its_mode(tmp_path, bits):
    path = tmp_path / "x"
    path.touch()
    path.chmod(bits)
    write_whole(path, "content")
    assert mode(path) == bits


def test_a_new_file_has_the_usual_mode(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "x", "content")
    finally:
        os.umask(before)
    assert mode(tmp_path / "x") == 0o640


def folder(path):
    path.mkdir()


def device(path):
    path.symlink_to("/dev/null")


def listening(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize("make", [folder, device, listening, os.mkfifo])
def test_what_is_not_a_file_is_refused_and_left_alone(tmp_path, monkeypatch, make):
    monkeypatch.chdir(tmp_path)  # paths of sockets must be short
    make(Path("x"))
    before = os.stat("x").st_mode
    with pytest.raises(th.BadFile, match=r"^x: cannot be written: .*, not a file$"):
        write_whole(Path("x"), "content")
    assert os.stat("x").st_mode == before
    assert os.listdir() == ["x"]


def test_a_link_to_itself_is_refused(tmp_path):
    (tmp_path / "x").symlink_to(tmp_path / "x")
    with pytest.raises(th.BadFile, match="cannot be written: Too many levels of symbolic links"):
        write_whole(tmp_path / "x", "content")


def test_names_as_long_as_the_disk_takes(tmp_path):
    write_whole(tmp_path / ("x" * 255), "content")
    assert (tmp_path / ("x" * 255)).read_text() == "content"


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_names_that_no_disk_takes(name):
    for use in (lambda path: write_whole(path, ""), make_folder, read_toml):
        with pytest.raises(th.BadFile, match=r"^a\\x00b: |^\\ud800: "):
            use(Path(name))


def test_text_that_cannot_be_encoded_is_refused(tmp_path):
    with pytest.raises(th.BadFile, match=r"cannot be written: .*surrogates not allowed"):
        write_whole(tmp_path / "x", "\ud800")
    assert list(tmp_path.iterdir()) == []


def test_errors_show_strange_paths_in_one_line():
    with pytest.raises(th.BadFile) as caught:
        th.instance("a\n\x1b[31mb.toml")
    assert str(caught.value) == r"a\n\x1b[31mb.toml: No such file or directory"


def test_whole_numbers_of_thousands_of_digits(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(f"noise = {'9' * 5000}\n{INSTANCE}")
    message = r"not valid TOML: a whole number of more than 4300 digits$"
    with pytest.raises(th.BadFile, match=message):
        th.instance(path)
    with pytest.raises(th.InvalidInput, match="noise: a number expected, got int without a text"):
        th.Instance(th.ActionSets([[[1]]]), theta=[1], noise=10**5000)


def test_an_endless_file_is_refused(monkeypatch):
    monkeypatch.setattr("thrifty.files.MOST_TEXT", 10**6)
    with pytest.raises(th.BadFile, match="zero: a file of at most 1 MB expected"):
        th.instance("/dev/zero")


def test_pipes_are_read_and_nobody_is_waited_for(tmp_path):
    os.mkfifo(tmp_path / "x.toml")
    with pytest.raises(th.BadFile, match="theta is missing"):
        th.instance(tmp_path / "x.toml")
    ours, theirs = os.pipe()
    os.write(theirs, INSTANCE.encode())
    os.close(theirs)
    assert th.instance(f"/dev/fd/{ours}").sets.dimension == 1
    os.close(ours)
