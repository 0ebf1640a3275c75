"""`experiment.decisions()`: the log as a table, as the service exports it."""

import asyncio
import sys

import pytest

import thrifty as th
from tests.service.fake_server import speaking
from thrifty.errors import InvalidInput, MissingPackage, ServiceError
from thrifty.service.client import outcomes

pytestmark = pytest.mark.slow


@pytest.fixture
def shop(server, request):
    name = request.node.name[:90].replace("[", "_").replace("]", "_")
    server.make(name)
    with th.Client(server.url) as client:
        yield client.experiment(name)


def test_a_row_per_decision_with_its_reward(shop):
    first, second = shop.choose_many(["phone", {"context": "desk", "available": ["small"]}])
    shop.learn(first, 0.5)
    rows = shop.decisions().to_pylist()
    assert [row["decision"] for row in rows] == [first.id, second.id]
    assert [row["reward"] for row in rows] == [0.5, None]
    assert (rows[1]["name"], rows[1]["available"]) == ("small", ["small"])
    assert rows[0]["probability"] == first.probability
    assert [row["decision"] for row in shop.decisions(after=first.seq).to_pylist()] == [second.id]
    assert list(shop.decisions().to_pandas()["seq"]) == [first.seq, second.seq]


def test_without_decisions_there_are_columns_and_no_rows(shop):
    table = shop.decisions()
    assert (table.num_rows, table.column_names[:3]) == (0, ["seq", "at", "decision"])


def test_it_is_awaited_in_asyncio(server, shop):
    async def rows():
        async with th.AsyncClient(server.url) as client:
            return (await client.experiment(shop.name).decisions()).num_rows

    shop.choose("phone")
    assert asyncio.run(rows()) == 1


def test_mistakes_are_sentences(server, shop, monkeypatch):
    with pytest.raises(InvalidInput, match="after: a whole number of at least 0 expected, got -1"):
        shop.decisions(after=-1)
    with th.Client(server.url) as client, pytest.raises(ServiceError, match="no experiment none"):
        client.experiment("none").decisions()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = r"^experiment\.decisions\(\) needs pyarrow; run: pip install pyarrow$"
    with pytest.raises(MissingPackage, match=message):
        shop.decisions()


def test_what_is_no_table_or_too_long_is_not_used(monkeypatch):
    def talk(connection):
        while True:
            connection.request()
            connection.answer(b"PAR1 is how such a file begins")

    with speaking(talk) as url, th.Client(url) as client:
        shop = client.experiment("shop")
        with pytest.raises(ServiceError, match="not an answer of a thrifty service"):
            shop.decisions()
        monkeypatch.setattr(outcomes, "LARGEST_TABLE", 10)
        with pytest.raises(ServiceError, match="it has more than 10 bytes"):
            shop.decisions()
