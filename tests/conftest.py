"""What several test folders share: a plain-Python oracle and settings for generated examples."""

from __future__ import annotations

import math
import os
import re
import shutil
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from xdist.scheduler import LoadGroupScheduling

sys.path.insert(0, str(Path(__file__).parent))  # modules beside the tests

from servers import ON_SERVER, PostgresPlace, SqlitePlace, postgres

settings.register_profile(
    "hartley",
    deadline=None,  # a busy machine is slow, not wrong
    derandomize=True,  # the same examples on every machine
    database=None,
    suppress_health_check=[HealthCheck.too_slow],  # likewise
)
settings.load_profile("hartley")
# Hypothesis also draws numbers and words from the source of all modules that are loaded. Then a
# new constant anywhere, or another order of tests, would change the examples of every test.
providers._get_local_constants = providers.Constants


# --- how the tests are run ----------------------------------------------------------------------

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of this run is made in it
ROOM = 4 << 30
"""All tests together write less than a fourth of it."""


@pytest.hookimpl(tryfirst=True)  # before pytest chooses the folder of tmp_path
def pytest_configure(config: pytest.Config) -> None:
    """Keep temporary files in memory, where there is room for them.

    A ledger waits for the disk at every charge, and the tests make tens of thousands of them.
    ``--basetemp`` puts the files into a folder of your choice, where they stay after the run.
    """
    if config.option.basetemp is None and _has_room(MEMORY):  # a worker is given a folder in it
        folder = tempfile.mkdtemp(prefix=f"hartley-{os.getpid()}-", dir=MEMORY)  # whose it is
        Path(folder).chmod(0o1777)  # as the usual one: some tests let other users look in
        config.option.basetemp = f"{folder}/run"
        os.environ["TMPDIR"] = tempfile.tempdir = folder  # for the processes that tests start
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def _has_room(folder: Path) -> bool:
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        return False
    space = os.statvfs(folder)
    return space.f_bavail * space.f_frsize >= ROOM and not space.f_flag & os.ST_NOEXEC


class WholeFiles(LoadGroupScheduling):
    """Gives a worker whole files, so that what the tests of a file share is made only once."""

    def _split_scope(self, nodeid: str) -> str:
        group = super()._split_scope(nodeid)
        return nodeid.partition("::")[0] if group == nodeid else group


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> WholeFiles | None:
    return WholeFiles(config, log) if config.option.dist == "loadgroup" else None


# --- stores of ledgers ---------------------------------------------------------------------------


@pytest.fixture(scope="session")
def server():
    """The address of a real PostgreSQL."""
    with postgres() as address:
        yield address


@pytest.fixture(scope="session")
def postgres_place(server):
    found = PostgresPlace(server)
    yield found
    found.clear()


@pytest.fixture
def sqlite_place(tmp_path):
    return SqlitePlace(tmp_path)


@pytest.fixture(params=["sqlite", ON_SERVER])
def place(request):
    """One store after the other."""
    return request.getfixturevalue(f"{request.param}_place")


# --- a plain-Python oracle ----------------------------------------------------------------------


def in_order(value: Any) -> tuple[Any, ...]:
    """Sort values column by column, a missing one last."""
    parts = value if isinstance(value, tuple) else (value,)
    return tuple((part is None, 0 if part is None else part) for part in parts)


@dataclass(frozen=True)
class PlainRelation:
    """A joint range held in a dictionary: how often each pair (secret, released) occurs."""

    counts: dict[tuple[Any, Any], int]

    @property
    def secret_range(self) -> list[Any]:
        return sorted({secret for secret, _ in self.counts}, key=in_order)

    @property
    def released_range(self) -> list[Any]:
        return sorted({released for _, released in self.counts}, key=in_order)

    def swap(self) -> PlainRelation:
        return PlainRelation({(y, x): times for (x, y), times in self.counts.items()})

    def conditional(self) -> dict[Any, list[Any]]:
        """Return the secrets that each released value leaves possible."""
        found = defaultdict(list)
        for secret, released in self.counts:
            found[released].append(secret)
        return {released: sorted(secrets, key=in_order) for released, secrets in found.items()}

    def classes(self) -> list[tuple[list[Any], list[Any]]]:
        """Return the classes of the overlap partition, by first secret."""
        graph = nx.Graph([(("secret", x), ("released", y)) for x, y in self.counts])
        found = []
        for component in nx.connected_components(graph):
            sides = defaultdict(list)
            for side, value in component:
                sides[side].append(value)
            found.append(
                tuple(sorted(sides[side], key=in_order) for side in ("secret", "released"))
            )
        return sorted(found, key=lambda sides: in_order(sides[0][0]))

    def measures(self) -> dict[str, float]:
        """Return every measure straight from its formula."""
        x, y = len(self.secret_range), len(self.released_range)
        narrowed = [len(secrets) for secrets in self.conditional().values()]
        narrowed_back = [len(released) for released in self.swap().conditional().values()]
        leakage = math.log2(x / min(narrowed))
        return {
            "hartley_entropy": math.log2(x),
            "conditional_entropy": math.log2(max(narrowed)),
            "relative_disarray": math.log2(min(narrowed)),
            "nonstochastic_information": math.log2(x / max(narrowed)),
            "nonstochastic_leakage": leakage,
            "symmetric_leakage": min(leakage, math.log2(y / min(narrowed_back))),
            "information_transmission": math.log2(x * y / len(self.counts)),
            "maximin_information": math.log2(len(self.classes())),
            "guessing_leakage": leakage,
            "identifiability": leakage,
            "maximal_guessing_leakage": math.log2(x - min(narrowed) + 1),
            "mutual_information": self._mutual_information(),
            "maximal_leakage": self._maximal_leakage(),
        }

    def _margins(self) -> tuple[Counter[Any], Counter[Any]]:
        secret: Counter[Any] = Counter()
        released: Counter[Any] = Counter()
        for (x, y), times in self.counts.items():
            secret[x] += times
            released[y] += times
        return secret, released

    def _mutual_information(self) -> float:
        secret, released = self._margins()
        rows = sum(self.counts.values())
        return math.fsum(
            times / rows * math.log2(times * rows / (secret[x] * released[y]))
            for (x, y), times in self.counts.items()
        )

    def _maximal_leakage(self) -> float:
        secret, _ = self._margins()
        peak: defaultdict[Any, float] = defaultdict(float)
        for (x, y), times in self.counts.items():
            peak[y] = max(peak[y], times / secret[x])
        return math.log2(math.fsum(peak.values()))


def bin_midpoint(value: float, step: Fraction) -> float:
    """Return the middle of the bin of a value, every edge the double nearest to the product."""
    number = math.floor(Fraction(value) / step)
    while value < float(number * step):
        number -= 1
    while value >= float((number + 1) * step):
        number += 1
    return float((number + Fraction(1, 2)) * step)


def plain_relation(
    columns: dict[str, list[Any]],
    secret: list[str] | None,
    released: list[str],
    bins: dict[str, Any] | None = None,
    missing: str = "released",
) -> PlainRelation:
    """Count a relation row by row; a secret of None stands for the record itself."""
    steps = {name: Fraction(str(step)) for name, step in (bins or {}).items()}
    hidden_steps = {name: step for name, step in steps.items() if name not in released}

    def side(names: list[str], steps: dict[str, Fraction]) -> list[tuple[Any, ...]]:
        cleaned = [[_clean(value, steps.get(name)) for value in columns[name]] for name in names]
        return list(zip(*cleaned, strict=True))

    shown = side(released, steps)
    hidden = [()] * len(shown) if secret is None else side(secret, hidden_steps)
    kept = [
        pair
        for pair in zip(hidden, shown, strict=True)
        if None not in {"released": pair[0], "value": (), "drop": (*pair[0], *pair[1])}[missing]
    ]
    if secret is None:
        kept = [(number, pair[1]) for number, pair in enumerate(sorted(kept, key=_released_order))]
    return PlainRelation(Counter((_single(x), _single(y)) for x, y in kept))


def _released_order(pair: tuple[Any, Any]) -> tuple[Any, ...]:
    return in_order(pair[1])


def _clean(value: Any, step: Fraction | None) -> Any:
    if value is None or value != value:  # noqa: PLR0124 - only NaN differs from itself
        return None
    if step is not None:
        return bin_midpoint(float(value), step)
    return value + 0.0 if isinstance(value, float) else value  # minus zero is zero


def _single(side: Any) -> Any:
    return side[0] if isinstance(side, tuple) and len(side) == 1 else side


def measured(relation: Any, *, base: float = 2) -> dict[str, float]:
    """Return every measure of a relation, by name."""
    import hartley

    names = [*PlainRelation({(0, 0): 1}).measures(), "zero_error_capacity_bound"]
    return {name: getattr(hartley.measures, name)(relation, base=base) for name in names}


def listed(relation: Any) -> dict[tuple[Any, Any], int]:
    """Return the pairs of a relation as values, and how often each occurs."""
    pairs = relation.pairs()
    secrets = relation.secret_values.take(pairs.secret)
    released = relation.released_values.take(pairs.released)
    found = dict(zip(zip(secrets, released, strict=True), pairs.counts.tolist(), strict=True))
    assert len(found) == pairs.secret.size, "a pair is listed twice"
    return found


def spelled(values: Any) -> str:
    """Write values so that 1, 1.0, True and -0.0 all differ."""
    return repr(values)


@pytest.fixture(scope="session")
def oracle():
    """Count a relation in plain Python: oracle(columns, secret, released, bins, missing)."""
    return plain_relation


@pytest.fixture(scope="session")
def measures_of():
    """Return every measure of a relation by name: measures_of(relation)."""
    return measured


@pytest.fixture(scope="session")
def pairs_of():
    """Return the pairs of a relation as values with their counts: pairs_of(relation)."""
    return listed


@pytest.fixture(scope="session")
def assert_is():
    """Compare a relation with the oracle's, number by number: assert_is(relation, plain)."""

    def compare(relation: Any, plain: PlainRelation) -> None:
        assert spelled(relation.secret_range) == spelled(plain.secret_range)
        assert spelled(relation.released_range) == spelled(plain.released_range)
        assert listed(relation) == plain.counts
        assert relation.rows == sum(plain.counts.values())
        numbers = measured(relation)
        bound = numbers.pop("zero_error_capacity_bound")
        assert numbers == pytest.approx(plain.measures(), rel=1e-12, abs=1e-12)
        smaller = math.log2(min(len(plain.secret_range), len(plain.released_range)))
        assert numbers["maximin_information"] <= bound <= smaller + 1e-12

    return compare


@pytest.fixture
def default_interruption():
    """Let an interruption raise KeyboardInterrupt: PySpark, once started, takes SIGINT over.

    A shell that starts the tests in the background has it ignored, so that nothing would happen.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# --- refusals -----------------------------------------------------------------------------------

NUMBER = 987_654_321


@pytest.fixture(scope="session")
def refused():
    """Expect a well-said refusal: ``with refused(ColumnError, "'age'", "people.csv"): ...``.

    The message is one line, names the culprit, carries a hint and repeats no planted value; and
    no other exception hides behind it whose words might.
    """

    @contextmanager
    def expect(kind, *named):
        with pytest.raises(kind) as caught:
            yield caught
        message = str(caught.value)
        assert type(caught.value) is kind
        assert re.fullmatch(r"[^\n\r]+; hint: [^\n\r]+", message)
        for planted in ("SECRET-7741", "SECRET", "7741", str(NUMBER), "9.87654321", f"{NUMBER:,}"):
            assert planted not in message
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        for name in named:
            assert name in message

    return expect
