"""Random requests, right and wrong, made from the schema: all answers are those it announces.

THRIFTY_CASES: how many requests; for long runs, with THRIFTY_FUZZ_SEED for others than usual.
"""

import os
from collections import Counter
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.service.servers import LISTED, audit_all, serving

pytestmark = pytest.mark.fuzz

CASES = int(os.environ.get("THRIFTY_CASES", "800"))
PATIENCE = 60  # seconds for an answer: an experiment of a thousand features takes some to begin


def plain_sentences(context: Any, response: Any, case: Any) -> None:
    """No answer repeats what pydantic says, which is about Python."""
    if response.status_code >= 400:
        assert "should" not in response.json()["error"]["message"], response.text


CHECKS = [
    plain_sentences,
    not_a_server_error,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]
IDS = st.sampled_from([f"decision {n}" for n in range(30)])
NUMBERS = st.floats(-10, 10)
DECISIONS = st.one_of(
    st.fixed_dictionaries(
        {"context": st.sampled_from([one["name"] for one in LISTED])},
        optional={"id": IDS, "available": st.sampled_from([["a"], ["c", "a"]])},
    ),
    st.fixed_dictionaries(
        {"features": st.lists(st.lists(NUMBERS, min_size=2, max_size=2), min_size=1, max_size=4)},
        optional={"id": IDS},
    ),
)
REWARDS = st.fixed_dictionaries({"decision": IDS, "reward": NUMBERS})
CHANGES = st.fixed_dictionaries(
    {"status": st.sampled_from(["active", "active", "active", "paused", "archived"])},
    optional={
        "expire": st.sampled_from([None, {"after_s": 0.1}, {"after_s": 0.1, "reward": 0.5}]),
        "add_arm": st.just({"context": "desk", "features": [0.5, 0.5], "name": "extra"}),
        "remove_arm": st.just({"context": "desk", "name": "extra"}),
        "add_context": st.just({"name": "more", "arms": [[1, 2], [2, 1]]}),
        "remove_context": st.just("more"),
    },
)
EXPERIMENTS = st.fixed_dictionaries(
    {
        "name": st.sampled_from([f"new {n}" for n in range(20)]),
        "policy": st.sampled_from(["thrifty", "lints", "greedy", "oam"]),
        "rewards": st.sampled_from(["gaussian", "bernoulli"]),
    },
    optional={"dimension": st.integers(1, 5), "contexts": st.just(LISTED), "noise": NUMBERS},
)
BODIES = {  # of requests that may succeed
    ("POST", "/v1/experiments"): EXPERIMENTS,
    ("POST", "/v1/experiments/{name}/decisions"): DECISIONS | st.lists(DECISIONS, max_size=4),
    ("POST", "/v1/experiments/{name}/rewards"): REWARDS | st.lists(REWARDS, max_size=4),
    ("PATCH", "/v1/experiments/{name}"): CHANGES,
}


def test_no_request_breaks_the_service(tmp_path):
    with serving(tmp_path / "store.db") as server:
        for path, offer in (
            (server.make("listed"), {"context": "phone"}),
            (server.make("open", dimension=2), {"features": [[1, 0], [0, 1]]}),
        ):
            asked = [{"id": f"decision {n}", **offer} for n in range(10)]
            assert server.client.post(f"{path}/decisions", json=asked).is_success
        schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
        operations = [one.ok() for one in schema.get_all_operations()]
        assert len(operations) >= 9
        seen: Counter[tuple[str, int]] = Counter()

        @seed(int(os.environ.get("THRIFTY_FUZZ_SEED", "0")))
        @settings(
            max_examples=CASES,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(data=st.data())
        def attack(data):
            operation = data.draw(st.sampled_from(operations))
            mode = data.draw(st.sampled_from(list(GenerationMode)))
            case = data.draw(operation.as_strategy(mode))
            aimed = data.draw(st.booleans())
            if aimed:
                _aim(case, data.draw)
            checks = CHECKS if aimed else [*CHECKS, negative_data_rejection]
            response = case.call_and_validate(checks=checks, timeout=PATIENCE)
            seen[operation.label, response.status_code] += 1

        attack()
        assert {label for label, status in seen if status < 300} == {
            one.label for one in operations
        }
        for name in ("listed", "open"):
            assert server.client.get(f"/v1/experiments/{name}").status_code == 200
        assert server.client.get("/readyz").status_code == 200
    audit_all(tmp_path / "store.db")


def _aim(case: Any, draw: Any) -> None:
    """Turn a request to what exists, so that not all of them end with 404 or 422."""
    path = case.path_parameters or {}
    if "name" in path:
        path["name"] = draw(st.sampled_from(["listed", "open"]))
    if "id" in path:
        path["id"] = draw(IDS)
    body = BODIES.get((case.method.upper(), case.path))
    if body is not None and draw(st.booleans()):
        case.body = draw(body)
