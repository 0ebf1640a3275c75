"""Addresses of services, which tokens and decisions are sent to."""

import ipaddress
import re
import socket

import httpx

from thrifty.errors import InvalidInput

EXAMPLE = "an address such as http://127.0.0.1:8080"
_LABEL = "[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*")


def checked_address(url: object, where: str = "url") -> str:
    """An address in its normal form, without a slash at its end or a dot after its host.

    It has a scheme (http or https), a host, and perhaps a port and a path. where: its name in
    messages, which do not repeat what may hold a password.
    """
    try:
        # twice: the port of a scheme is left out only after the scheme is in lower case
        parsed = _without_dot(httpx.URL(str(httpx.URL(url)))) if isinstance(url, str) else None
        usable = parsed is not None and _is_usable(parsed)
    except (httpx.InvalidURL, UnicodeError):  # also hosts that cannot be names
        usable = False
    if isinstance(url, str) and set(url) & set("@?#"):
        raise InvalidInput(where, f"pass {EXAMPLE}, without user, query or fragment")
    if not usable:
        raise InvalidInput.expected(where, EXAMPLE, url)
    return str(parsed).rstrip("/")


def is_everywhere(host: str) -> bool:
    """Whether a host means all addresses of a machine: one to listen on, but not to be reached at.

    In all forms that sockets know, such as 0.0.0.0, 0, :: and ::ffff:0.0.0.0.
    """
    try:
        address = ipaddress.ip_address(socket.inet_aton(host) if ":" not in host else host)
    except (OSError, ValueError):  # a name
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_unspecified


def _without_dot(url: httpx.URL) -> httpx.URL:
    """The same without the dot that may end the name of a host."""
    host = url.raw_host.decode("ascii")
    return url.copy_with(host=host[:-1]) if host.endswith(".") else url


def _is_usable(url: httpx.URL) -> bool:
    if url.scheme not in ("http", "https") or (url.port is not None and not 0 < url.port < 2**16):
        return False
    host = url.raw_host.decode("ascii")
    if ":" not in host:
        return _NAME.fullmatch(host) is not None and url.host != ""  # which decodes it
    try:
        return not ipaddress.IPv6Address(host).scope_id  # a scope has a meaning on one machine only
    except ValueError:
        return False
