"""What every command does around its work: recording, --script, and overwriting only by --force."""

from __future__ import annotations

import functools
import glob
import inspect
import os
import re
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.models import OptionInfo

from hartley.errors import OptionError
from hartley.files import STANDARD_INPUT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hartley.reports.evidence import Recording

WORDS: ContextVar[tuple[str, ...]] = ContextVar("words", default=())
"""The words of the command line, which the evidence repeats."""
OPTIONS: ContextVar[Mapping[str, str]] = ContextVar("options")
"""The options of the command that runs, by its parameters."""
OUTPUTS = (
    "out", "html", "csv", "junit", "sarif", "policy_out", "certificate", "draft", "risks", "plot",
    "script",
)  # fmt: skip
"""Parameters that name files to write."""
PRICED = {"ask", "price", "plan", "ledger", "account", "serve", "demo"}
"""Commands about a private table that its analysts ask: a fingerprint of it would be an answer."""
ELSEWHERE = {"reproduce", "account", "schema"}
"""Commands whose output is a folder, or that never replace a file."""
FILES = re.compile("FILE|TABLE|SPEC|POLICY|OUTPUT|READINGS|SCHEMA|CERTIFICATE|LEDGER|QUESTIONS")
"""Words for files in the help of options and arguments."""
LONG = re.compile("--")
PANEL = "Evidence"

Script = Annotated[
    Path | None,
    typer.Option(
        "--script",
        metavar="FILE",
        help="Also write a shell script that runs this command again.",
        rich_help_panel=PANEL,
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace files that exist already.", rich_help_panel=PANEL),
]
_ADDED = {"script": (Script, None), "force": (Force, False)}


def recorded(command: Callable[..., None], name: str) -> Callable[..., None]:
    """Return a command that records what it does; one that writes a file can be repeated.

    Such a command gets two options: ``--script`` for a script that runs it again, and ``--force``,
    without which no existing file is replaced. A draft of roles is never replaced.
    """
    signature = inspect.signature(command, eval_str=True)
    writes = {*_outputs(name)} & signature.parameters.keys() and name not in ELSEWHERE
    added = _ADDED if writes else {}
    named = _naming_files(signature)
    shell_names = _options(signature)

    @functools.wraps(command)
    def run(**options: Any) -> None:  # noqa: ANN401 - the options of the command
        from hartley.reports.evidence import Recording, plain_options, recording

        OPTIONS.set(shell_names)
        extra = {key: options.pop(key, default) for key, (_, default) in added.items()}
        given = plain_options(options | extra)
        read = _read_files(name, given, named)
        if added:
            paths = [options.get(key) for key in _outputs(name) if key not in {"draft", "script"}]
            refuse_replacing([*paths, extra["script"]], read=read, force=extra["force"])
            check_script(extra["script"], read, given)
        writes = tuple(str(given[key]) for key in _outputs(name) if key in given)
        made = Recording(WORDS.get(), given, () if name in PRICED else read, writes)
        with recording(made):
            try:
                command(**options)
            except typer.Exit:  # a gate stops, and the work is done
                _write_script(extra.get("script"), made)
                raise
            _write_script(extra.get("script"), made)

    parameters = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for key, (kind, default) in added.items()
    ]
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), *parameters]
    )
    return run


def refuse_replacing(paths: Iterable[Path | None], *, read: Iterable[str], force: bool) -> None:
    """Raise an error for a file that exists, unless it may be replaced.

    A file that the command reads is left to the command, which never replaces it.

    Example:
        >>> refuse_replacing([Path("new.html"), None], read=["people.csv"], force=False)
    """
    inputs = {os.path.realpath(path) for path in read}
    for path in paths:
        if path is None or force or not path.is_file() or os.path.realpath(path) in inputs:
            continue
        raise OptionError(
            f"The file {path} exists already",
            hint="give another name, or add --force to replace it",
        )


def check_script(script: Path | None, read: Iterable[str], given: Mapping[str, Any]) -> None:
    """Raise an error for a script that would overwrite a file of its own command.

    The command knows nothing of the script, so that it cannot refuse it.
    """
    from hartley.files import check_files

    others = [str(given[key]) for key in OUTPUTS if key in given and key != "script"]
    check_files(
        {"script": script},
        {"file that the command reads": read, "file that the command writes": others},
    )


def _outputs(name: str) -> list[str]:
    return [key for key in OUTPUTS if not (name == "verify" and key == "certificate")]


def _read_files(name: str, given: Mapping[str, Any], named: set[str]) -> tuple[str, ...]:
    """Return the files that a command reads; ``named`` are the parameters that name files."""
    from hartley.reports.evidence import existing_files

    texts = [
        str(text)
        for key in given.keys() & named - set(_outputs(name))
        for text in (given[key] if isinstance(given[key], list) else [given[key]])
    ]
    patterns = filter(glob.has_magic, texts)
    matches = [match for text in patterns for match in glob.glob(text, recursive=True)]  # noqa: PTH207 - also absolute patterns
    given_input = (STANDARD_INPUT,) if STANDARD_INPUT in texts else ()
    files = [file for file in existing_files([*texts, *matches]) if file != STANDARD_INPUT]
    return (*sorted(files), *given_input)


def _naming_files(signature: inspect.Signature) -> set[str]:
    """Return the parameters whose place in the help says that they name a file."""
    return {
        name
        for name, parameter in signature.parameters.items()
        for about in getattr(parameter.annotation, "__metadata__", ())
        if FILES.search(getattr(about, "metavar", None) or "")
    }


def _options(signature: inspect.Signature) -> dict[str, str]:
    """Return the first name of each option; an argument has none."""
    return {
        name: next(filter(LONG.match, map(str, words)), f"--{name.replace('_', '-')}")
        for name, parameter in signature.parameters.items()
        for about in getattr(parameter.annotation, "__metadata__", ())
        if isinstance(about, OptionInfo)
        for words in [(about.default, *(about.param_decls or ()))]  # Typer moves the first later
    }


def _write_script(script: Path | None, made: Recording) -> None:
    from hartley.files import write_whole

    if script is not None:
        again = replace(made, words=without_script(made.words))
        write_whole(script, again.evidence().script())
        script.chmod(script.stat().st_mode | 0o100)


def without_script(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a command without ``--script`` and ``--force``.

    Example:
        >>> without_script(("audit", "a.csv", "--script", "b.sh", "--force", "--html=c.html"))
        ('audit', 'a.csv', '--html=c.html')
    """
    shown: list[str] = []
    skip = False
    for word in words:
        if not skip and word != "--force" and not word.startswith("--script"):
            shown.append(word)
        skip = not skip and word == "--script"
    return tuple(shown)
