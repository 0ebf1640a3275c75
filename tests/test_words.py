"""One word, one meaning: classes and modules that share a name."""

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "thrifty"

# names that several classes have, and why
CLASSES = {
    "Change": "of an instance, and of an experiment by PATCH: told apart by their package",
    "CompiledFunction": "two backends of one interface, of which one is imported",
    "Experiment": "what the service runs, and the same as a client sees it",
    "LogEntry": "what the service sends, and the same as a client reads it",
    "Model": "of the policy thrifty; and the base of the service's schemas",
    "Offer": "of open contexts; and what ids knows of one",
    "Progress": "numbers of a state that change in place",
    "State": "of each policy",
    "Values": "of the policy thrifty; and those that are verified",
}
# names that several modules have, and why
MODULES = {
    "__init__": "of every package",
    "app": "the command line, and the web service: entry points, named as their frameworks do",
    "changes": "of arms by a learner, and of theta in an instance",
    "ids": "the policy, and identifiers",
    "plain": "policies in plain Python, and their learner",
    "serving": "the command, and what it calls",
    "store": "ResultStore and EventStore",
}


def test_classes_of_one_name_are_one_class():
    places = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(SOURCE)))
    shared = {name: files for name, files in places.items() if len(files) > 1}
    assert set(shared) <= set(CLASSES), shared


def test_modules_of_one_name_are_one_module():
    places = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        places[path.stem].append(str(path.relative_to(SOURCE)))
    shared = {name: files for name, files in places.items() if len(files) > 1}
    assert set(shared) <= set(MODULES), shared
