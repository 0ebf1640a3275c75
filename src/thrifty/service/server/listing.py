"""The list of experiments: from the store, and from the servers that lead them."""

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from pydantic import ValidationError

from thrifty.errors import ThriftyError
from thrifty.service.server.actions import Ask
from thrifty.service.server.refusals import Unavailable, Unreadable
from thrifty.service.server.schemas import ExperimentLine
from thrifty.service.server.views import experiment_line
from thrifty.service.storage.leases import Elsewhere
from thrifty.service.storage.store import Listed, list_experiments

if TYPE_CHECKING:
    from thrifty.service.server.app import Service

AT_ONCE = 100  # experiments that are asked for together
Line = dict[str, Any]  # an ExperimentLine


class Listing:
    """A list in the making.

    The store has a line of each experiment, which is a little old while one is in use. Then its
    leader is asked. Where there is none, as after a crash, the saved line stands: a list must not
    read all experiments. So it does where a leader does not answer.
    """

    def __init__(self, request: Request, service: "Service") -> None:
        self._request, self._service = request, service
        self._saved: dict[str, Line | None] = {}
        self._silent: set[str] = set()  # leaders that have not answered

    async def lines(self) -> list[Line]:
        """ExperimentLines of all experiments but those that are archived or cannot be read."""
        asked = await run_in_threadpool(self._read)
        for first in range(0, len(asked), AT_ONCE):
            some = asked[first : first + AT_ONCE]
            found = await asyncio.gather(*map(self._line, some))
            self._saved |= zip(some, found, strict=True)
        return [line for line in self._saved.values() if line is not None]

    def _read(self) -> list[str]:
        """Read the saved lines; returns the experiments whose leaders are to be asked."""
        service = self._service
        with service.store.reading() as connection:
            service.writer.memory.check_file()
            found = list_experiments(connection, service.store.now(connection))
        self._saved = {name: _saved_line(listed) for name, listed in found.items()}
        return [
            name
            for name, (_, summary, last, leader) in found.items()
            if self._saved[name] is None
            or (
                (summary is not None and summary.seq != last)
                and (name in service.writer.experiments or leader not in (None, service.own_url))
            )
        ]

    async def _line(self, name: str) -> Line | None:
        """The present line of an experiment, or the saved one; None if it cannot be read."""
        saved = self._saved[name]
        try:
            return await self._present_line(name)
        except Unavailable as error:
            if saved is None and not isinstance(error, Unreadable):
                raise
        except ThriftyError:  # this version cannot go on with it
            pass
        return saved

    async def _present_line(self, name: str) -> Line:
        """What the leader of an experiment says."""
        try:
            line: Line = await self._service.writer.submit(Ask(name, experiment_line))
        except Elsewhere as leader:
            line = await self._line_elsewhere(name, leader)
        return line

    async def _line_elsewhere(self, name: str, leader: Elsewhere) -> Line:
        if leader.url in self._silent:
            raise Unavailable("experiment", f"the leader of {name} does not answer; try again")
        path = f"/v1/experiments/{quote(name)}"
        try:
            reply = await self._service.pass_on(self._request, leader, "GET", path)
        except Unavailable:
            self._silent.add(leader.url)
            raise
        shown = reply.json()
        if reply.status_code == 200:
            return {key: shown[key] for key in ExperimentLine.model_fields}
        error = shown["error"]
        kind = Unavailable if reply.status_code == 503 and error["where"] != "log" else Unreadable
        raise kind(error["where"], error["message"])


def _saved_line(listed: Listed) -> Line | None:
    """What the store has; None if that is nothing, or damaged."""
    if listed.summary is None:
        return None
    try:
        line = ExperimentLine.model_validate({**listed.summary.line, "status": listed.status})
    except ValidationError:
        return None
    return line.model_dump()
