"""A command made of a function: its options come from the signature, its help from the ``Args``."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union, get_args, get_origin

import typer

from hartley.cli.output import (
    Details,
    Format,
    console,
    print_json,
    progress_bar,
    say,
    wants_json,
)
from hartley.cli.reading import (
    READING,
    open_tables,
    parameter,
    read_hierarchies,
    reading_of,
    require_option,
    split_columns,
    split_settings,
    warn_near_misses,
)
from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.files import check_files, write_all_or_none, write_whole
from hartley.inputs import InputKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hartley.cli.commands import Command

INPUTS = vars(import_module("hartley.inputs"))
"""The only names that stand in annotations of parameters with an option."""
FAILED = 3
"""The exit code where a gate stops: not 2, which is a user's mistake, and not 1, a failure."""
SHORT = {"out": "-o", "k": "-k"}
LINES = {
    "html": "Report",
    "csv": "Points",
    "file": "Written",
    "out": "Released",
    "batch_file": "Batch",
}
"""How the line begins that names a written file, if not with the name that JSON has for it."""
WRITTEN = {
    "html": "report",
    "csv": "table of points",
    "file": "release",
    "out": "release",
    "junit": "JUnit report",
    "sarif": "SARIF report",
    "batch_file": "batch",
}
"""What refusals call a file to write, if not by the name that JSON has for it."""
LISTS, WHOLE = ("doctor", "estimate"), ("details", "show_values", "estimate")
"""Commands and flags that ask for all that a result holds."""
PICTURES = (".png", ".svg", ".pdf")
OUTPUTS = {
    "html": "Also write a report to open in a browser.",
    "risks": "Also write the risk of every record, as .parquet or .csv.",
    "csv": "Also write the points of the curve as a CSV file.",
    "plot": "Also draw the curve: a .png, .svg or .pdf file.",
    "out": "The .parquet or .csv file to write.",
    "batch_file": "Write the batch, ready for hartley ask --file.",
    "policy": "Write the policy to this file; default: only show it.",
    "certificate": "Also write the certificate, which hartley verify recomputes.",
    "junit": "Also write the result as JUnit XML.",
    "sarif": "Also write the result as SARIF 2.1.0.",
}
"""Files that a command writes of the result of its function."""
GATE = "hartley.studies.check.gate"
READ = {
    "rows": "table",
    "more_rows": None,
    "path": None,
    "design": "design",
    "groups": None,
    "roles": None,
    "files": "output",
    "address": None,
}
"""Kinds of input that name files to read, and what refusals call them; None: as the parameter."""
SHELL_TYPES = {
    "switch": bool,
    "number": int,
    "float": float,
    "text": str,
    "setting": str,
    "address": str,
}


class Gate(NamedTuple):
    """When a command stops a pipeline, and the function that decides."""

    function: str
    words: str = ""
    """The conditions to fail on."""
    normally: str = "never"
    fails_on: str = ""
    fails_above: str = "Exit with 3 if more than this is revealed; compared exactly."
    limit: str = "BITS"


PEOPLE = {
    "words": "FAIL_ON_PEOPLE",
    "fails_on": "Exit with 3 if somebody's secret is certain (told), or known with at least "
    "--certainty (nearly), or if somebody is among fewer than --few, or unique.",
}
NUMBER = {
    "limit": "NUMBER",
    "fails_above": "Exit with 3 if the main number of the attack, or the upper end of its "
    "interval, is larger.",
}
GATES = {
    "audit": Gate("audit_gate", **PEOPLE),
    "anonymity": Gate("anonymity_gate", **PEOPLE),
    "tables": Gate(
        "check_gate",
        "FAIL_ON",
        "disclosed",
        "Exit with 3 if a cell is disclosed, or also if one is open, or never.",
    ),
    "success": Gate(
        "attack_gate",
        "FAIL_ON_SUCCESS",
        fails_on="Exit with 3 if the main number of the attack is above zero, even at the lower "
        "end of its interval (certain), or perhaps (possible).",
        **NUMBER,
    ),
    "number": Gate("attack_gate", **NUMBER),
    "settled": Gate(
        "differencing_gate",
        "FAIL_ON_SETTLED",
        fails_on="Exit with 3 if a total of few rows is settled, or also if one is open.",
    ),
}


# --- options of a signature -----------------------------------------------------------------------


def derive(name: str, command: Command) -> Callable[..., None]:
    """Return the function behind a command as one with an option for each of its parameters."""
    derived = _Derived(name, command)

    def run(**given: Any) -> None:  # noqa: ANN401 - the options of the command
        derived.run(given)

    run.__doc__ = "\n\n".join(filter(None, (command.help, command.more, _example(command))))
    run.__signature__ = inspect.Signature([*derived.options()])  # type: ignore[attr-defined]
    return run


def _example(command: Command) -> str:
    return command.example and f"[dim]Example: {command.example}[/dim]"


def kind_of(annotation: Any) -> InputKind:  # noqa: ANN401 - any annotation
    """Return the kind of input that an annotation stands for.

    Example:
        >>> kind_of(INPUTS["Columns"] | None).form, kind_of(Literal["key", "both"]).form
        ('COL[,COL]', 'key|both')
    """
    parts = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else [annotation]
    plain = {
        bool: InputKind("switch", ""),
        int: InputKind("number", "N"),
        float: InputKind("float", "NUMBER"),
    }
    for part in parts:
        for about in getattr(part, "__metadata__", ()):
            if isinstance(about, InputKind):
                return about
        if get_origin(part) is Literal:
            return InputKind("text", "|".join(get_args(part)))
    return next(plain[part] for part in parts if part in plain)


def help_of(function: Callable[..., Any]) -> dict[str, str]:
    r"""Return what the ``Args`` of a docstring say of each parameter to a reader of the help.

    What begins with "In Python," is for other readers.

    Example:
        >>> def count(few): ...
        >>> count.__doc__ = "Count.\n\nArgs:\n    few: The least. In Python, None counts nobody."
        >>> help_of(count)
        {'few': 'The least.'}
    """
    block = (inspect.getdoc(function) or "").partition("Args:\n")[2].split("\n\n")[0]
    entries = re.split(r"\n(?=    \w)", block)
    pairs = (" ".join(entry.split()).partition(": ") for entry in entries if entry.strip())
    return {name: text.split(" In Python, ")[0] for name, _, text in pairs}


def _file(name: str, told: str | None = None, *, required: bool = False) -> inspect.Parameter:
    short = [SHORT[name]] if name in SHORT else []
    text = OUTPUTS[told if told in OUTPUTS else name]
    about = typer.Option(f"--{_dashed(name)}", *short, metavar="FILE", help=text)
    return parameter(name, Path if required else Path | None, about, ... if required else None)


def _dashed(name: str) -> str:
    return name.replace("_", "-")


class _Derived:
    """A command, and the function that it calls."""

    def __init__(self, name: str, command: Command) -> None:
        self.name, self.command = name, command
        self.function = named(command.home)
        self.signature = inspect.signature(self.function)
        self.kinds: dict[str, InputKind] = {}
        for key, each in self.signature.parameters.items():
            if not each.annotation.startswith("PythonOnly"):
                kind = kind_of(eval(each.annotation, INPUTS))  # noqa: S307 - our own annotation
                if kind.name != "progress":
                    self.kinds[key] = kind
        self.gate = GATES[command.gate] if command.gate else None

    def options(self) -> Iterator[inspect.Parameter]:
        """Yield the parameters of the command, as Typer reads them."""
        told = help_of(self.function)
        for name, kind in self.kinds.items():
            yield self._option(name, kind, kind.help or told[name])
        for name, about in self.command.writes.items():
            if name not in self.kinds:
                yield _file(name, about, required=name in self.command.required)
        for name, text in self.command.flags.items():
            yield parameter(
                name, bool, typer.Option(f"--{_dashed(name)}", help=text), default=False
            )
        if any(kind.name == "rows" for kind in self.kinds.values()):
            yield from (parameter(name, *about) for name, about in READING.items())
        if self.gate is not None:
            gate = self.gate
            above = typer.Option("--fail-above", metavar=gate.limit, help=gate.fails_above)
            yield parameter("fail_above", str | None, above)
            if gate.words:
                words = "|".join(word for word in gate_words(gate) if word != "given-away")
                on = typer.Option("--fail-on", metavar=words, help=gate.fails_on)
                yield parameter("fail_on", str, on, gate.normally)
            yield from map(_file, ("junit", "sarif"))
        yield parameter("details", bool, get_args(Details)[1], default=False)
        yield parameter("json", *get_args(Format))

    def _option(self, name: str, kind: InputKind, text: str) -> inspect.Parameter:
        default = self.signature.parameters[name].default
        needed = default is inspect.Parameter.empty and kind.name != "files"
        needed = needed or name in self.command.required
        form = self.command.forms.get(name, kind.form)
        if kind.argument:
            about = typer.Argument(metavar=form, help=text, show_default=False)
        else:
            short = [SHORT[name]] if name in SHORT else []
            words = f"--{self.command.names.get(name, _dashed(name))}"
            about = typer.Option(words, *short, metavar=form or None, help=text)
        shell: Any = list[str] if kind.repeats else SHELL_TYPES.get(kind.name, Path)
        if needed:
            return parameter(name, shell, about, ...)
        if kind.repeats or default is None:
            return parameter(name, shell | None, about)
        return parameter(name, shell, about, str(default) if shell is str else default)

    # --- a run ------------------------------------------------------------------------------------

    def run(self, given: dict[str, Any]) -> None:
        """Read the inputs, call the function, write its files together, and print the result."""
        named = (*self.command.writes, "junit", "sarif")
        files = {key: given[key] for key in named if given.get(key) is not None}
        self._check(given, files)
        arguments = self._read(given)
        cases: list[Any] = []

        def write(result: Any) -> None:  # noqa: ANN401 - any result
            """Make every file, so that nothing can fail after something is booked."""
            known = given | arguments
            if self.gate is not None:
                decide = getattr(import_module(GATE), self.gate.function)
                cases.extend(
                    _call(decide, known | {"names": self._texts(self._subject, given)}, result)
                )
            for key, path in files.items():
                if key not in self.kinds:
                    self._write(key, path, result, known, cases)

        with write_all_or_none(), progress_bar(dict(self.command.progress)) as progress:
            wanted = {"progress": progress, "before": write}
            arguments |= {key: wanted[key] for key in wanted if key in self.signature.parameters}
            bound = self.signature.bind_partial()
            for key in self.signature.parameters:
                if key in arguments:
                    bound.arguments[key] = arguments[key]
            result = self.function(*bound.args, **bound.kwargs)
            if "before" not in arguments:
                write(result)
            if "out" in self.kinds and given.get("policy") is not None:
                from hartley.policies.document import PolicyDocument

                lists = PolicyDocument.load(given["policy"]).categories
                warn_near_misses(arguments["table"], lists, "is not in the policy's lists")
        self._tell(result, given, files)
        stop_if_failed(cases)
        if not getattr(result, "healthy", True):
            raise typer.Exit(1)

    @property
    def _subject(self) -> str:
        """The parameter for the table, or else the first one."""
        tables = (key for key, kind in self.kinds.items() if kind.name == "rows")
        return next(tables, next(iter(self.kinds)))

    def _texts(self, key: str, given: Mapping[str, Any]) -> list[str]:
        """Return the files that a parameter names."""
        value = given[key]
        texts = value if isinstance(value, list) else [] if value is None else [value]
        cut = self.kinds[key].name == "groups"
        return [str(text).rpartition("=")[2] if cut else str(text) for text in texts]

    def _check(self, given: Mapping[str, Any], files: Mapping[str, Path]) -> None:
        """Refuse early what can be refused before anything is read or computed."""
        reads = {
            READ[kind.name] or key: self._texts(key, given)
            for key, kind in self.kinds.items()
            if kind.name in READ
        }
        told = {key: self.command.writes.get(key) or key for key in files}
        check_files({WRITTEN.get(told[key], told[key]): files[key] for key in files}, reads)
        if "certificate" in files and "out" in given and given["out"] is None:
            raise OptionError(
                "No certificate can be written, because no policy file is written",
                hint="add -o policy.toml",
            )
        for key in ("risks", "out"):
            if key in files and self.kinds[self._subject].name == "rows":
                from hartley.tables.writing import output_format

                output_format(files[key], spreadsheet_safe=given.get("spreadsheet_safe", False))
        if "plot" in files and files["plot"].suffix.lower() not in PICTURES:
            raise OptionError(
                f"The file name {files['plot']} does not end in a known picture format",
                hint=f"call it for example curve{PICTURES[0]}; the formats are "
                f"{', '.join(PICTURES)}",
            )
        if self.gate is not None and self.gate.words:
            from hartley.studies.check.gate import check_condition

            check_condition(given["fail_on"], gate_words(self.gate))
        if given.get("fail_above") is not None:
            parse_number(given["fail_above"], name="the limit of --fail-above")

    def _read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the function; what is not given is left to its defaults."""
        arguments: dict[str, Any] = {}
        columns: list[str] = []
        reading = reading_of(given)
        table = None
        for key, kind in self.kinds.items():
            value = given[key]
            if kind.name == "rows" and "reading" in self.signature.parameters:
                arguments |= {key: value[0] if len(value) == 1 else value, "reading": reading}
            elif kind.name == "rows" and value:
                # Who counts people by a unit, or looks for copies of identifiers, reads the column
                # and leaves it out itself.
                whole = not {"unit", "allow_dependence"}.isdisjoint(self.kinds)
                table = open_tables(value, reading, roles=given.get("roles"), whole=whole)
                columns += table.columns
                arguments[key] = table
            elif kind.name == "more_rows" and value:
                arguments[key] = open_tables(value, replace(reading, names=None))
                columns += arguments[key].columns
        if table is not None:
            for key in self.command.needs:
                require_option(given[key], f"--{_dashed(key)}", given.get("roles"), table.columns)
        for key, kind in self.kinds.items():
            if key in arguments or given[key] in (None, [], ()):
                continue
            arguments[key] = self._value(key, kind, given[key], columns, table)
        return arguments

    def _value(self, key: str, kind: InputKind, value: Any, columns: list[str], table: Any) -> Any:  # noqa: ANN401, PLR0911 - one kind of input a line
        words = f"--{self.command.names.get(key, _dashed(key))}"
        form = self.command.forms.get(key, kind.example or kind.form)
        match kind.name:
            case "columns":
                return split_columns(value, columns)
            case "column_groups":
                return [split_columns([text], columns) for text in value]
            case "settings":
                return split_settings(value, words, form)
            case "setting":
                return split_settings([value], words, form)
            case "lists":
                settings = split_settings(value, words, form)
                return {name: text.split(",") for name, text in settings.items()}
            case "groups":
                return read_hierarchies(value, table)
        return value

    def _write(
        self,
        key: str,
        path: Path,
        result: Any,  # noqa: ANN401 - any result
        known: Mapping[str, Any],
        cases: list[Any],
    ) -> None:
        """Write a file of the result."""
        if key == "html":
            from hartley.reports import write_html

            write_html(result, path)
        elif key == "plot":
            from hartley.reports.render import picture

            write_whole(path, picture(result, path.suffix.lower().removeprefix(".")))
        elif key == "csv":
            write_whole(path, result.csv())
        elif key in ("junit", "sarif"):
            write_whole(path, getattr(import_module(GATE), f"{key}_text")(self.name, cases))
        elif key in self.command.savers:
            named(self.command.savers[key])(result, path)
        else:
            method = result.write if key == "out" else getattr(result, f"write_{key}")
            table = {"table": known.get(self._subject)}
            _call(method, {**known, **table}, path)

    def _tell(self, result: Any, given: Mapping[str, Any], files: Mapping[str, Path]) -> None:  # noqa: ANN401 - any result
        """Print the result and what was written, as JSON or as text."""
        told = {
            name: str(files[key])
            for key, name in self.command.writes.items()
            if key in files and name is not None
        }
        results = result if isinstance(result, tuple) else (result,)
        if wants_json(given["json"]):
            contents = [_call(each.to_dict, given) for each in results]
            content = {"format": 1, f"{self.name}s": contents}
            content = content if isinstance(result, tuple) else contents[0]
            print_json(content | ({"files": told} if self.command.files else told))
            return
        from hartley.reports.render import MOST_LINES, print_report

        asked = self.name in LISTS or any(given.get(flag) for flag in WHOLE)
        room = None if asked else MOST_LINES - len(told)
        for each in results:
            if not hasattr(each, "report"):
                say(str(each))
                continue
            promise = getattr(each, "certificate", None)
            print_report(_call(each.report, given), console(), room and room - 3 * bool(promise))
            if promise is not None:
                say(f"Certified: {promise.claim}")
        lines = LINES | ({"html": "Page"} if self.command.files else {})
        for name, path in told.items():
            say(f"{lines.get(name, name.capitalize())}: {path}")


def named(home: str) -> Any:  # noqa: ANN401 - a function
    """Import what a module and a name in it stand for."""
    module, _, attribute = home.partition(":")
    return getattr(import_module(module), attribute)


def gate_words(gate: Gate) -> tuple[str, ...]:
    """Return the conditions that a gate can fail on."""
    return tuple(getattr(import_module(GATE), gate.words))


def stop_if_failed(cases: list[Any]) -> None:
    """Exit with 3 if something does not pass a gate."""
    for case in cases:
        for finding in case.findings:
            if finding.rule == "above":
                typer.echo(f"{case.name}: {finding.message}.", err=True)  # no headline says it
    if not all(case.passed for case in cases):
        raise typer.Exit(FAILED)


def _call(function: Callable[..., Any], known: Mapping[str, Any], *first: Any) -> Any:  # noqa: ANN401 - any result
    """Call a function with those of the known values that its signature names."""
    names = list(inspect.signature(function).parameters)[len(first) :]
    return function(*first, **{name: known[name] for name in names if name in known})
