"""The main function of the command line: it runs a command and reports errors."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from hartley.cli.commands import LazyGroup
from hartley.cli.output import is_terminal, piped_json, print_json
from hartley.cli.recording import OPTIONS, WORDS
from hartley.errors import HartleyError, InputError, Refused, without_password
from hartley.files import remove_private_folders
from hartley.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

INTERRUPTED = 130
"""The exit code after Ctrl-C, as in a shell: 128 plus the number of the signal."""
PATIENCE = 10.0
"""Seconds to close files and connections after a signal; then the process ends anyway."""
STOPPED = HartleyError("Interrupted", hint="nothing was left half-written")

app = typer.Typer(
    name="hartley",
    cls=LazyGroup,
    help="Deterministic privacy: measure exactly what a data release reveals about a secret.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hartley {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Deterministic privacy: measure exactly what a data release reveals about a secret."""


class _Signals:
    """Turns SIGTERM and Ctrl-C into the same orderly exit."""

    def __init__(self) -> None:
        self.caught: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._catch)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _catch(self, number: int, _frame: object) -> None:
        if self.caught is None:
            self.caught = number
            # A thread that waits for a lock, for example of an import, must not block the exit.
            limit = threading.Timer(PATIENCE, self.end)
            limit.daemon = True
            limit.start()
        raise KeyboardInterrupt

    def end(self) -> None:
        """End the process now, without waiting for its other threads."""
        remove_private_folders()
        os._exit(128 + (self.caught or signal.SIGINT))


def main() -> None:
    """Run a command; exit with 0 if done, 2 for a user's mistake, 130 if interrupted, else 1."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # replace characters that the terminal cannot show
            stream.reconfigure(errors="replace")
    with _Signals() as signals:
        try:
            code, failure = _run()
        except BaseException:
            if signals.caught is None:
                raise
            code = INTERRUPTED
        if code == INTERRUPTED or signals.caught is not None:
            failure = STOPPED  # an error after a signal is caused by it
        if failure is not None:
            _tell(failure)
        if signals.caught is not None:
            signals.end()
    sys.exit(code)


def _without_passwords(_kind: object, error: BaseException, _place: object) -> None:
    sys.stderr.write("".join(map(without_password, traceback.format_exception(error))))


def _explained(error: Exception) -> HartleyError:
    """Return the sentence for an error that nobody expected."""
    if isinstance(error, MemoryError):
        return HartleyError(
            "There is not enough memory", hint="raise its limit, or name fewer columns"
        )
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        problem = f"The name {error.filename} is longer than the system allows"
        return InputError(problem, hint="give a shorter one")
    return HartleyError(
        "Something went wrong inside Hartley",
        hint="run again with HARTLEY_DEBUG=1 to see where, and report it",
    )


def _tell(failure: HartleyError) -> None:
    """Print why a command failed, also as JSON where that is wanted."""
    from hartley.cli.refusals import in_shell, pointed_at, to_dict

    failure.hint = in_shell(failure.hint, OPTIONS.get({}))
    plain = os.environ.get("NO_COLOR") or not is_terminal(sys.stderr)
    typer.secho(f"Error: {pointed_at(failure)}", err=True, fg=None if plain else typer.colors.RED)
    _tell_json(to_dict(failure))


def _tell_json(content: Mapping[str, Any]) -> None:
    """Print plain values if the words of the command line ask for JSON, or all pipes get it."""
    given = [word == "--json" for word in WORDS.get() if word in {"--json", "--text"}]
    if given[-1] if given else piped_json():
        try:
            print_json(content)
        except BrokenPipeError:  # nobody reads it
            _print_nothing()


def _print_nothing() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run() -> tuple[int, HartleyError | None]:
    """Run a command; return its exit code and, if it failed, why."""
    try:
        code = app(prog_name="hartley", standalone_mode=False)
    except HartleyError as error:
        return 2 if isinstance(error, (InputError, Refused)) else 1, error
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED, None
    except BrokenPipeError:
        _print_nothing()
        return 1, None
    except Exception as error:
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # an unknown option
            if hasattr(error, "message"):  # which repeats what was typed
                error.message = without_password(str(error.message))
            error.show()
            from hartley.cli.reading import columns_sentence

            sentence = columns_sentence(error)
            if sentence:
                typer.echo(sentence, err=True)
            reason = getattr(error, "message", str(error))
            hint = sentence or "add --help to see what there is"
            _tell_json({"error": {"reason": reason, "hint": hint}})
            return int(error.exit_code), None
        if os.environ.get("HARTLEY_DEBUG"):
            sys.excepthook = _without_passwords
            raise
        failure = _explained(error)
        return 2 if isinstance(failure, InputError) else 1, failure
    return code if isinstance(code, int) else 0, None
