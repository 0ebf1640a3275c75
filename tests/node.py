"""Node, which runs the tests of the client in JavaScript: `python -m tests.node` finds or gets it.

Debian's packages are installed as root; `npm ci` fetches what makes the types. `make test` runs
this first. `python -m tests.node types` writes the types anew, from the service's description.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "clients" / "js"
DOCUMENT = FOLDER / "openapi.json"
LOWEST = 18
APT = [
    ["apt-get", "update", "-qq"],
    ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "nodejs", "npm"],
]
ADVICE = (
    f"no Node for the tests of the client in JavaScript: install Node {LOWEST} or later with npm"
    " (`make check` needs none)"
)
NO_TOOLS = f"types of the client in JavaScript are not checked: `npm ci` has failed in {FOLDER}"


def is_there() -> bool:
    """Whether Node is new enough, and npm beside it."""
    if not shutil.which("npm") or not (node := shutil.which("node")):
        return False
    done = subprocess.run([node, "--version"], check=False, capture_output=True, text=True)
    found = re.match(r"v(\d+)\.", done.stdout)
    return found is not None and int(found[1]) >= LOWEST


def get_node() -> None:
    """Return once there is Node; end with what to do if it cannot be had."""
    if is_there():
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in APT:
            print("no Node yet:", " ".join(command), file=sys.stderr, flush=True)
            subprocess.run(command, check=False, env=environment, stdout=sys.stderr)
    if not is_there():
        sys.exit(ADVICE)


def get_tools() -> bool:
    """Install what makes the types, in the versions of the lock; whether it could be had."""
    installed, lock = FOLDER / "node_modules" / ".package-lock.json", FOLDER / "package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime:
        return True
    command = ["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"]
    return subprocess.run(command, check=False, cwd=FOLDER, stdout=sys.stderr).returncode == 0


def document() -> str:
    """What the service says of its JSON, as far as types need it."""
    from thrifty.service.server.app import make_app

    described = make_app("unused.db").openapi()
    components = {"schemas": _without_titles(described["components"]["schemas"])}
    parts = {"openapi": described["openapi"], "info": {"title": "thrifty", "version": "1"}}
    return json.dumps({**parts, "paths": {}, "components": components}, indent=2) + "\n"


def _without_titles(schema: Any) -> Any:
    """A schema without the titles that repeat its names; a property may be called title."""
    if isinstance(schema, list):
        return [_without_titles(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_titles(part)
        for key, part in schema.items()
        if key != "title" or not isinstance(part, str)
    }


def write_types(folder: Path = FOLDER) -> None:
    """Write the types anew from the document in a folder, which has a copy of the client."""
    environment = os.environ | {"PATH": f"{FOLDER / 'node_modules/.bin'}:{os.environ['PATH']}"}
    subprocess.run(["npm", "run", "--silent", "types"], check=True, cwd=folder, env=environment)


def main() -> None:
    """Get what is missing; write the types if asked for."""
    get_node()
    tools = get_tools()
    if not tools:
        print(NO_TOOLS, file=sys.stderr)
    if sys.argv[1:] == ["types"]:
        if not tools:
            sys.exit(1)
        DOCUMENT.write_text(document())
        write_types()


if __name__ == "__main__":
    main()
