"""What a learner's file holds, and a learner restored from it, every value checked."""

from base64 import b64decode, b64encode
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.errors import InvalidInput, UnknownName
from thrifty.learners.decisions import Decision
from thrifty.learners.draws import BLOCK
from thrifty.learners.features import from_json
from thrifty.learners.maps import FeatureMap
from thrifty.learners.open_contexts import OpenSets
from thrifty.learners.pending import Pending
from thrifty.learners.state_files import expect, pack, unpack
from thrifty.numerics.arrays import Floats, finite_numbers
from thrifty.policies import POLICIES
from thrifty.policies.base import Policy, plain_number
from thrifty.problem.action_sets import ActionSets

if TYPE_CHECKING:
    from thrifty.learners.learner import Learner


def content_of(learner: "Learner") -> dict[str, Any]:
    """Everything that a file of this learner holds."""
    normals, uniforms = learner._draws.drawn_from
    used = learner.decisions - learner._draws.first if learner._random else 0
    parameters = asdict(learner.policy)
    return {
        "policy": learner.policy.name,
        "parameters": {key: plain_number(value) for key, value in parameters.items()},
        "noise": learner.noise,
        **learner.arms.to_json(),
        "settings": asdict(learner.settings),
        "state": pack(learner.state, opened=learner.sets.open),
        "draws": {"normals": normals, "uniforms": uniforms, "used": used},
        "next_id": learner.decisions,
        "unknown_levels": learner.unknown_levels,
        "pending": [
            {
                "decision": list(entry.decision),
                "row": entry.row,
                "label": entry.label,
                "features": None if entry.features is None else _to_text(entry.features),
                "counted": learner.arms.counted(entry),
                "explored": entry.explored,
            }
            for entry in learner.pending.values()
        ],
    }


def sets_of(content: dict[str, Any], sets: Any, features: FeatureMap | None) -> Any:
    """The action sets of a file; those given, if any, must be the same."""
    content.setdefault("settings", {})  # up to version 3 of the file
    if "open" in content:
        capacity = content["open"]["capacity"]
        expect(_is_index(capacity, 2**31), "open", "a number of arms", capacity)
        saved: Any = OpenSets(**{**content["open"], "features": _map_of(content, features)})
    else:
        contexts = content["contexts"]
        saved = ActionSets(
            [context["arms"] for context in contexts],
            context_names=[context["name"] for context in contexts],
            arm_names=[context["arm_names"] for context in contexts],
            columns=content.get("columns"),
        )
    if sets is not None and sets != saved:
        raise InvalidInput("contexts", f"saved for other action sets: {saved}")
    return saved


def _map_of(content: dict[str, Any], given: FeatureMap | None) -> FeatureMap | None:
    """The feature map of a file; the one given, if any, must be the same."""
    described = content["open"]["features"]
    if described is None:
        expect(given is None, "features", "none, as in the file", given)
        return None
    transformer = None if given is None else getattr(given.columns, "transformer", None)
    saved = from_json(_present(described), transformer)
    expect(given is None or given == saved, "features", "the same map as in the file", given)
    return saved


def _present(described: dict[str, Any]) -> dict[str, Any]:
    """A map as it is described now; up to version 5 of the file all columns were numbers."""
    if described.get("transformed") or isinstance(described["columns"], dict):
        return described
    names, arms = described["columns"], described["arms"]
    kinds: list[dict[str, Any]] = [{"kind": "number"} for _ in names]
    if described["centre"] is not None:
        scales = zip(described["centre"], described["scale"], strict=True)
        kinds = [{"kind": "number", "mean": m, "deviation": s} for m, s in scales]
    if described["kind"] == "product":
        rows = [
            dict(zip(described["arm_columns"], row, strict=True)) for row in described["arm_rows"]
        ]
        arms = dict(zip(arms, rows, strict=True))
    columns = dict(zip(names, kinds, strict=True))
    present = {"kind": described["kind"], "columns": columns, "bias": bool(described["bias"])}
    return present if described["kind"] == "shared" else present | {"arms": arms}


def policy_of(content: dict[str, Any], policy: Policy | None) -> Policy:
    """The policy of a file; the one given, if any, must be the same."""
    if content["policy"] == "ids":  # up to 0.2.0 the ridge was 1 and no parameter
        content["parameters"].setdefault("ridge", 1.0)
    if content["policy"] == "thrifty" and "pace" in content["parameters"]:
        which = "that of thrifty 0.2, which reads this file"
        raise InvalidInput.expected("policy", "the policy thrifty of this version", which)
    if policy is None:
        if content["policy"] not in POLICIES:
            raise UnknownName("policy", content["policy"], POLICIES)
        policy = POLICIES[content["policy"]](**content["parameters"])
    elif policy.name != content["policy"] or asdict(policy) != content["parameters"]:
        raise InvalidInput.expected("policy", str(policy), content["policy"])
    return policy


def restore(learner: "Learner", content: dict[str, Any]) -> None:
    """Bring a new learner to where the one in a file was."""
    regression = content["state"].get("regression")
    if isinstance(regression, dict) and isinstance(regression.get("totals"), dict):
        # up to version 3 of the file the ridge never changed
        ridge = float(learner.state.regression.totals[0].ridge)
        regression["totals"].setdefault("ridge", ridge)
    rows = len(learner.state.ledger.chosen)
    unpack(content["state"], learner.state, opened=learner.sets.open, rows=rows)
    _restore_draws(learner, content["draws"], content["next_id"])
    unknown = content.get("unknown_levels", {})  # from version 6 of the file on
    counts = isinstance(unknown, dict) and all(
        _is_index(count, 2**62) for count in unknown.values()
    )
    expect(counts, "unknown_levels", "a count for each column", unknown)
    learner.unknown_levels = unknown
    for entry in content["pending"]:
        pending = _restore_pending(learner, entry)
        expect(pending.decision.id not in learner.pending, "pending", "distinct ids", entry)
        learner.pending[pending.decision.id] = pending


def _restore_draws(learner: "Learner", draws: dict[str, Any], made: int) -> None:
    """The number of decisions made, and the random draws of the present block."""
    used = draws["used"]
    expect(_is_index(made, 2**62), "next_id", "a whole number of at least 0", made)
    expect(_is_index(used, BLOCK + 1), "draws.used", f"a number from 0 to {BLOCK}", used)
    expect(used <= made, "draws.used", f"at most {made}, as many as decisions", used)
    states = draws["normals"], draws["uniforms"]
    learner._draws.renew(learner.state.ledger, made - used, states)
    learner.decisions = learner._progress[0].decisions = made


def _restore_pending(learner: "Learner", entry: dict[str, Any]) -> Pending:
    """A decision that waits for its reward, checked against the rest of the learner."""
    sets, where = learner.sets, "pending"
    id, context, arm, name, label, gap, *rest = entry["decision"]
    chance = rest[0] if rest else None  # up to version 3 of the file
    expect(_is_index(id, learner.decisions), where, f"an id below {learner.decisions}", id)
    expect(all(isinstance(text, str) for text in (context, name, label)), where, "names", entry)
    expect(_is_index(arm, 2**62), where, "the index of an arm", arm)
    expect(isinstance(gap, float), where, "a gap", gap)
    probable = chance is None or (type(chance) is float and 0 <= chance <= 1 + 1e-9)
    expect(probable, where, "a probability", chance)
    removed = entry["features"] is not None  # its row is not used
    expect(removed or not sets.open, where, "features", entry)
    rows = sets.blocks if sets.open else len(sets.rows)
    # the arm of a disjoint map may be removed, with its block of theta
    gone = entry["row"] == -1 and getattr(getattr(sets, "features", None), "kind", "") == "disjoint"
    anywhere = gone if sets.open else removed
    expect(anywhere or _is_index(entry["row"], rows), where, "a row", entry)
    labels = learner.policy.labels
    expect(_is_index(entry["label"], len(labels)), where, "the index of a label", entry["label"])
    features, width = None, sets.rows.shape[1]
    if removed:
        numbers = _from_text(entry["features"])
        finite_numbers(numbers, f"{where}: features")
        features = np.array(numbers, dtype=np.float64)  # to the last bit: -0.0 stays -0.0
        expect(features.shape == (width,), where, f"{width} features", features)
    counted = None if sets.open else _counted_of(sets, entry, context, removed)
    decision = Decision(id, context, arm, name, label, gap, chance)
    explored = entry.get("explored", 0)  # from version 4 of the file on
    expect(_is_index(explored, 2), where, "0 or 1 exploration rounds", explored)
    return Pending(decision, entry["row"], entry["label"], features, counted, explored)


def _counted_of(
    sets: ActionSets, entry: dict[str, Any], context: str, removed: bool
) -> tuple[int, int, int] | None:
    """Where a waiting decision was counted; None if where its arm still is."""
    if "counted" not in entry:  # a file of version 2
        if context not in sets.context_names:
            return -1, -1, -1
        return (sets.context_index(context), -1, -1) if removed else None
    sizes = sets.contexts, len(sets.rows), len(sets.vectors)
    counted = tuple(entry["counted"])
    holds = len(counted) == 3 and all(
        index == -1 or _is_index(index, size) for index, size in zip(counted, sizes, strict=True)
    )
    expect(holds, "pending", "a context, a row and a vector", counted)
    return counted


def _is_index(value: Any, size: int) -> bool:
    return type(value) is int and 0 <= value < size


def _to_text(features: Floats) -> str:
    """Features (d,) as text, to the last bit: shorter and faster than decimal numbers."""
    return b64encode(features.astype("<f8").tobytes()).decode()


def _from_text(features: Any) -> Any:
    """The same back; up to version 3 of the file they are numbers."""
    if not isinstance(features, str):
        return features
    return np.frombuffer(b64decode(features, validate=True), dtype="<f8").astype(np.float64)
