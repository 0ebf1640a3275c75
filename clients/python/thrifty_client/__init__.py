"""Decisions of a running thrifty service: the client of thrifty alone."""

from importlib.metadata import version

__version__ = version("thrifty-client")  # first: the client sends it

from thrifty_client.errors import (
    InvalidInput,
    ServiceError,
    ThriftyError,
    UnknownName,
    Unreachable,
)
from thrifty_client.service.client.client import AsyncClient, Client

__all__ = [
    "AsyncClient",
    "Client",
    "InvalidInput",
    "ServiceError",
    "ThriftyError",
    "UnknownName",
    "Unreachable",
]
