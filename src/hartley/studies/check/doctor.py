"""Check what is installed and whether engines compute correctly, with a hint for each problem."""

from __future__ import annotations

import platform
import shutil
import subprocess
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from hartley.report import Cell, Grid, Heading, Readable, Report, Section

if TYPE_CHECKING:
    from hartley.inputs import Text


@dataclass(frozen=True)
class Check:
    """One thing that was checked."""

    name: str
    state: str
    """ok, absent (an optional part) or broken."""
    found: str
    hint: str


@dataclass(frozen=True)
class Diagnosis(Readable):
    """All checks, and whether everything that is needed works."""

    checks: tuple[Check, ...]

    @property
    def healthy(self) -> bool:
        """Whether nothing is broken; optional parts may be absent."""
        return not any(check.state == "broken" for check in self.checks)

    @property
    def headline(self) -> str:
        """Whether everything that is needed works."""
        return "Everything that is needed works." if self.healthy else "Something is broken."

    def report(self) -> Report:
        """Return every check, and what to do about what is broken or absent."""
        headings = (
            Heading("what", "name"),
            Heading("state", "word"),
            Heading("found"),
            Heading("to do", "meaning"),
        )
        good = {"ok": True, "absent": None, "broken": False}
        rows = tuple(
            (check.name, Cell(check.state, good=good[check.state]), check.found, check.hint)
            for check in self.checks
        )
        checked = Section("What was checked", table=Grid(headings, rows))
        return Report("Diagnosis", self.headline, (), (checked,))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return {"healthy": self.healthy, "checks": [asdict(check) for check in self.checks]}


def doctor(
    engine: Text | None = None,
) -> Diagnosis:
    """Check what is installed and whether engines compute correctly, with a hint for each problem.

    Args:
        engine: The engine to probe: FILE.duckdb, postgresql://... or spark://...; default: the
            embedded one.

    Example:
        >>> doctor().healthy
        True
    """
    return Diagnosis((*examine(), *probe(engine)))


def examine() -> list[Check]:
    """Check every package and engine that Hartley can use."""
    needed = ["hartley", "duckdb", "ibis-framework", "numpy", "scipy", "numba", "pyarrow"]
    return [
        Check("python", "ok", platform.python_version(), ""),
        *(_package(name, required=True, extra="") for name in needed),
        _package("polars", required=False, extra="pip install polars, to pass Polars tables"),
        _duckdb(),
        _postgres(),
        _spark(),
    ]


def _package(name: str, *, required: bool, extra: str) -> Check:
    try:
        return Check(name, "ok", version(name), "")
    except PackageNotFoundError:
        if required:
            return Check(name, "broken", "not installed", "pip install --force-reinstall hartley")
        return Check(name, "absent", "not installed", extra)


def _duckdb() -> Check:
    """Check that the embedded engine is a version that was tried, and that it answers."""
    from hartley.engines.duckdb import tried_versions
    from hartley.engines.registry import EMBEDDED
    from hartley.errors import EngineError

    try:
        EMBEDDED.require_tried_library()
    except EngineError as error:
        return Check("engine duckdb", "broken", error.problem, error.hint)
    except Exception:  # noqa: BLE001 - any error means that the engine does not answer
        return Check(
            "engine duckdb",
            "broken",
            "does not answer",
            f"pip install '{tried_versions()}' 'ibis-framework>=12,<13'",
        )
    return Check("engine duckdb", "ok", f"answers (DuckDB {version('duckdb')})", "")


def probe(address: str | None) -> list[Check]:
    """Run the probes on an engine; one check each."""
    from hartley.engines.probes import probe_engine
    from hartley.engines.registry import EMBEDDED, dialect_at

    dialect = EMBEDDED if address is None else dialect_at(address) or EMBEDDED
    try:
        backend = dialect.connect(address or "")
        name, probes = dialect.describe(backend), probe_engine(dialect, backend)
    except Exception:  # noqa: BLE001 - an address may hold a password
        return [
            Check(
                "engine probed",
                "broken",
                "does not answer",
                "check the address and that the engine is up",
            )
        ]
    return [
        Check("engine probed", "ok", name, ""),
        *(
            Check(f"probe: {probe.name}", "ok", "", "")
            if probe.holds
            else Check(
                f"probe: {probe.name}",
                "broken",
                f"{probe.answer} instead of {probe.expected}",
                "use another version or other settings of the engine",
            )
            for probe in probes
        ),
    ]


def _postgres() -> Check:
    package = _package("psycopg", required=False, extra="pip install 'hartley[postgres]'")
    client = f"client {package.found}; a server is reached through your Ibis connection"
    return Check(
        "engine postgres",
        package.state,
        client if package.state == "ok" else package.found,
        package.hint,
    )


def _spark() -> Check:
    package = _package("pyspark", required=False, extra="pip install 'hartley[spark]'")
    if package.state != "ok":
        return Check("engine spark", package.state, package.found, package.hint)
    java = shutil.which("java")
    if java is None:
        return Check(
            "engine spark",
            "absent",
            f"PySpark {package.found}, no Java",
            "install Java 17 or newer, on Debian apt-get install openjdk-17-jre-headless",
        )
    asked = subprocess.run(  # noqa: S603 - the java found on the PATH
        [java, "-version"], capture_output=True, text=True, check=False, timeout=60
    )
    lines = (asked.stderr or asked.stdout).splitlines()
    return Check(
        "engine spark", "ok", f"PySpark {package.found}, {lines[0] if lines else 'Java'}", ""
    )
