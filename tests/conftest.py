"""Rules for all tests."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark a test that has the fixture `postgres`, or a parameter of that name."""
    for item in items:
        values = getattr(item, "callspec", None) and item.callspec.params.values()
        if "postgres" in item.fixturenames or "postgresql" in (values or ()):
            item.add_marker("postgres")
