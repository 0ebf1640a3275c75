"""What becomes of an attempt: the reply is read, or the attempt has failed."""

import json
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from thrifty.errors import ServiceError, ThriftyError, shortened
from thrifty.service.client.replies import Mismatch, as_kind
from thrifty.service.client.requests import Request

T = TypeVar("T")
LARGEST_REPLY, LARGEST_TABLE = 100_000_000, 2_000_000_000  # bytes: of JSON, of a file
REFUSED = (429, 503)  # the request was not carried out
BROKEN = (502, 504)  # of a proxy, which has lost the server: as if the connection had broken


@dataclass(frozen=True)
class Reply:
    """A reply as it came, with headers by name in lower case.

    content : of a reply that is too large, a part that is too large
    """

    status: int
    headers: dict[str, str]
    content: bytes

    def checked(self, most: int) -> bytes:
        """The content; raises ValueError if it is compressed, or larger than asked for."""
        if self.headers.get("content-encoding", "identity") != "identity":
            raise ValueError("it is compressed, which was not asked for")
        if len(self.content) > most:
            raise ValueError(f"it has more than {most:,} bytes")
        return self.content

    def json(self) -> Any:
        """The content; raises ValueError if no service writes such."""
        content = self.checked(LARGEST_REPLY)
        try:
            return json.loads(content, parse_constant=_refuse)
        except (ValueError, RecursionError) as fault:
            raise ValueError("it is not JSON") from fault

    @property
    def asked_pause(self) -> float:
        """Seconds that the server asks to wait; 0 if it does not say, or gives a date."""
        try:
            return max(0.0, float(self.headers.get("retry-after", 0)))
        except ValueError:
            return 0.0


def is_too_large(request: Request[Any], content: bytes | bytearray) -> bool:
    """Whether a reply has more than a client reads."""
    return len(content) > (LARGEST_TABLE if request.table else LARGEST_REPLY)


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


class Failed(NamedTuple):
    """An attempt that has failed.

    Attributes
    ----------
    error : what to raise if it was the last
    again : whether there may be another one
    least : seconds to wait before it, at least
    usable : whether the connection may be used again
    """

    error: ThriftyError
    again: bool
    least: float = 0.0
    usable: bool = True


def read_reply(request: Request[T], reply: Reply) -> T | Failed:
    """What a reply says."""
    again = reply.status in REFUSED or (reply.status in BROKEN and request.repeatable)
    try:
        done = 200 <= reply.status < 300
        if done and request.table:
            return request.read(reply.checked(LARGEST_TABLE))
        content = reply.json()
        if done:
            return request.read(content)
        return Failed(_refusal(content, reply.status), again, reply.asked_pause)
    except Mismatch as fault:
        error = ServiceError(f"{fault}; it was not used", status=reply.status)
        return Failed(error, again=False, usable=False)
    except (KeyError, TypeError, ValueError) as fault:
        error = _no_answer(reply, fault)
        return Failed(error, again, reply.asked_pause, usable=False)


def _refusal(content: Any, status: int) -> ServiceError:
    """The error of a service."""
    error = as_kind(dict, as_kind(dict, content)["error"])
    where, message = as_kind(str, error["where"]), as_kind(str, error["message"])
    if status == 401 and "is needed" in message:
        message += "; pass one as token=, or to commands as --token or THRIFTY_TOKEN"
    return ServiceError(message, status=status, where=where)


def _no_answer(reply: Reply, fault: Exception) -> ServiceError:
    """Something else than a service has answered."""
    why = f"no {fault}" if isinstance(fault, KeyError) else str(fault)
    if 300 <= reply.status < 400:
        why = f"it leads to {shortened(reply.headers.get('location', 'nothing'))}"
    message = f"not an answer of a thrifty service (status {reply.status}): {why}"
    error = ServiceError(message, status=reply.status)
    error.__cause__ = fault
    return error
