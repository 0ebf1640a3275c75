"""Commands about the experiments of a running service."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option, Typer

from thrifty.cli import printing
from thrifty.cli.options import Json
from thrifty.errors import BadFile, InvalidInput, MissingPackage, similar

if TYPE_CHECKING:
    from thrifty.service.client.client import Client, RemoteExperiment

Url = Annotated[str, Option(envvar="THRIFTY_URL", help="Where the service is.")]
Token = Annotated[
    str | None, Option(envvar="THRIFTY_TOKEN", help="As `thrifty tokens make` printed it.")
]
Name = Annotated[str, Argument(metavar="NAME", help="Of the experiment.")]
DEFAULT_URL = "http://127.0.0.1:8080"
KEYS = ("name", "policy", "contexts", "dimension", "noise", "rewards", "seed", "expire")

app = Typer(help="Experiments of a running service: make, list, show, change them.")


def _client(url: str, token: str | None) -> "Client":
    MissingPackage.check("experiments", "httpx", extra="service")
    from thrifty.service.client.client import Client

    return Client(url, token)


def _experiment(name: str, url: str, token: str | None) -> "RemoteExperiment":
    return _client(url, token).experiment(name)


@app.command("list")
def list_all(url: Url = DEFAULT_URL, token: Token = None, as_json: Json = False) -> None:
    """List all experiments that are not archived."""
    experiments = _client(url, token).experiments()
    if as_json:
        printing.print_json(experiments)
    else:
        printing.print_experiments(experiments)


@app.command()
def show(name: Name, url: Url = DEFAULT_URL, token: Token = None) -> None:
    """Show an experiment as JSON: settings, counts, arms, exploration."""
    printing.print_json(_experiment(name, url, token).info())


@app.command()
def create(
    file: Annotated[Path, Argument(metavar="FILE", help="JSON as for POST /v1/experiments.")],
    url: Url = DEFAULT_URL,
    token: Token = None,
) -> None:
    """Make an experiment."""
    try:
        settings = _object(file.read_text(), str(file))
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    if not isinstance(settings.get("name"), str):
        raise InvalidInput(f"{file}: name", "must be the name of the experiment")
    for key in settings:
        if key not in KEYS:
            near = similar(key, KEYS)
            advice = f"did you mean {near}?" if near else f"known: {', '.join(KEYS)}"
            raise InvalidInput(f"{file}: {key}", f"unknown key; {advice}")
    _client(url, token).create(settings.pop("name"), **settings)
    print("made")


@app.command()
def change(
    name: Name,
    changes: Annotated[str, Argument(help="JSON as for PATCH /v1/experiments/NAME.")],
    url: Url = DEFAULT_URL,
    token: Token = None,
) -> None:
    """Change arms, contexts, expiry or parameters of the policy: all of it or nothing."""
    _experiment(name, url, token).change(**_object(changes, "changes"))
    print("changed")


@app.command()
def pause(name: Name, url: Url = DEFAULT_URL, token: Token = None) -> None:
    """Take no more decisions for now; rewards are still learned."""
    print(_experiment(name, url, token).pause()["status"])


@app.command()
def resume(name: Name, url: Url = DEFAULT_URL, token: Token = None) -> None:
    """Take decisions again."""
    print(_experiment(name, url, token).resume()["status"])


@app.command()
def archive(name: Name, url: Url = DEFAULT_URL, token: Token = None) -> None:
    """Take no more decisions, and leave it out of lists. Its log stays."""
    print(_experiment(name, url, token).archive()["status"])


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except ValueError as error:
        raise BadFile(f"{where}: invalid JSON: {error}") from None
    if not isinstance(content, dict):
        raise InvalidInput(where, "must be an object {...}")
    return content
