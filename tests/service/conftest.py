"""Fixtures of the tests of the service."""

import pytest

from tests.service.servers import audit_all, serving

pytest.register_assert_rewrite("tests.service.load")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server for all tests of a module; afterwards the audit of its store must pass."""
    path = tmp_path_factory.mktemp("store") / "store.db"
    with serving(path) as running:
        yield running
    audit_all(path)
