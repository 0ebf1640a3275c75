"""The command `thrifty`: its commands, and how it ends."""

import io
import logging
import os
import sys
import warnings
from typing import Annotated, Any

import typer

from thrifty.cli import experiments, lookups, serving, studies
from thrifty.errors import InvalidInput, ThriftyError, escaped, redacted

_TYPES = {"float_parsing": "a number", "int_parsing": "a whole number"}  # errors of pydantic

app = typer.Typer(
    help="Exploration that costs no more than it must: linear contextual bandits, their "
    "lower bounds, optimal allocations and policies.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for module, names in {
    lookups: ("bound", "instances", "policies"),
    studies: ("run", "reproduce", "arena", "report"),
    serving: ("serve", "audit"),
}.items():
    for name in names:
        app.command(name)(getattr(module, name))
app.command("warm-up")(studies.warm_up)
app.add_typer(experiments.app, name="experiments")
app.add_typer(serving.tokens, name="tokens")


def main() -> None:
    """Run the command line; a user's mistake ends with one line and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # for terminals that cannot show a character
    warnings.showwarning = lambda message, *_: _say(message)
    log = logging.getLogger("thrifty")
    log.setLevel(logging.INFO)
    log.addHandler(_LogLines())
    try:
        code = app(standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except (ThriftyError, typer.TyperException) as error:
        if message := _sentence(error):
            _say(message)
        code = 2
    except OSError as error:
        _say(f"{error.filename or 'standard output'}: {error.strerror or error}")
        if error.filename is None:
            os._exit(1)  # without flushing: the buffers cannot be written either
        code = 2
    except MemoryError:
        _say("not enough memory: fewer arms or dimensions need less")
        code = 2
    except (typer.Abort, KeyboardInterrupt):
        sys.stderr.flush()
        os._exit(130)  # at once, though a thread may still be compiling
    sys.exit(code)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        import thrifty

        print(f"thrifty {thrifty.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


class _LogLines(logging.Handler):
    """Prints log messages as lines on standard error, above a progress bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        _say(record.getMessage())


def _sentence(error: Exception) -> str:
    """What a user did wrong: a value of another type in the words of thrifty, not of pydantic."""
    problems: Any = getattr(error.__cause__, "errors", list)()
    option = getattr(error, "param", None)
    if option and problems and (kind := _TYPES.get(problems[0]["type"])):
        return str(InvalidInput.expected(option.opts[0], kind, problems[0]["input"]))
    return error.format_message() if isinstance(error, typer.TyperException) else str(error)


def _say(message: object) -> None:
    print(f"thrifty: {redacted(escaped(str(message)))}", file=sys.stderr)
