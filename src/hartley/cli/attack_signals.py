"""The commands ``hartley attack membership``, ``load-monitoring`` and ``uniqueness``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from hartley.cli.finding import FindingGate, check_page, tell_finding
from hartley.cli.gate import NEVER, FailAboveNumber, FailOnSuccess, Junit, Sarif
from hartley.cli.options import (
    Html,
    Person,
    RolesFile,
    Tables,
    open_tables,
    parse_columns,
    read_roles,
    reads_tables,
    split_columns,
    split_settings,
)
from hartley.cli.output import Format, progress_bar
from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.tables.reading import AS_WRITTEN, ReadingOptions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from hartley.policies.document import PolicyDocument
    from hartley.policies.quantizer import Quantizer

PolicyFile = Annotated[
    Path | None,
    typer.Option("--policy", metavar="FILE", help="Release the readings by this policy file."),
]
Bits = Annotated[
    str | None,
    typer.Option(
        "--bits", metavar="E", help="Release equal cells that keep within this budget in bits."
    ),
]
Levels = Annotated[
    int | None, typer.Option("--levels", metavar="Q", help="Number of equal cells in the release.")
]
Span = Annotated[
    str | None,
    typer.Option(
        "--range", metavar="LOW:HIGH", help="The smallest and the largest possible reading."
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        help="The seed of the random draws; the same seed repeats the attack.",
    ),
]


@reads_tables
def membership_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    readings: Annotated[
        list[str],
        typer.Argument(
            metavar="READINGS...",
            help="Parquet or CSV files; without --person every row is a person.",
        ),
    ],
    people: Annotated[
        int, typer.Option("--people", metavar="N", help="The number of people in a group.")
    ],
    person: Person = None,
    order: Annotated[
        str | None,
        typer.Option("--order", metavar="COL", help="The column that orders a person's rows."),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            metavar="COL[,COL]",
            help="The columns of readings, or FIRST...LAST; default: all other numeric columns.",
        ),
    ] = None,
    drop: Annotated[
        str,
        typer.Option(
            "--drop",
            metavar="people|times",
            help="Leave out people with missing readings, or the times at which somebody's "
            "reading is missing.",
        ),
    ] = "people",
    aggregate: Annotated[
        str,
        typer.Option("--aggregate", metavar="mean|sum", help="The released aggregate of a group."),
    ] = "mean",
    policy: PolicyFile = None,
    bits: Bits = None,
    levels: Levels = None,
    span: Span = None,
    games: Annotated[
        int, typer.Option("--games", metavar="N", help="The number of games to play.")
    ] = 10_000,
    seed: Seed = 0,
    reading: ReadingOptions = AS_WRITTEN,
    html: Html = None,
    fail_above: FailAboveNumber = None,
    fail_on: FailOnSuccess = NEVER,
    junit: Junit = None,
    sarif: Sarif = None,
    json: Format = None,
) -> None:
    """Guess which of two people is in a group whose aggregate is released, in repeated games.

    Without --policy, --bits or --levels the aggregate is released unchanged.

    [dim]Example: hartley attack membership homes.parquet --person home --order day --people 4
    --range 0:10 --bits 2[/dim]
    """
    from hartley.attacks.membership import MembershipGame

    gate = FindingGate("attack membership", [*readings], fail_above, fail_on, junit, sarif)
    check_page(html, [*readings, *([policy] if policy else [])])
    opened = open_tables(readings, reading)
    listed = _spread(split_columns(columns, opened.columns), opened.columns) if columns else None
    ends = _ends(span, "--range") if span else None
    wish = _Wish(policy, bits, levels, ends)
    game = MembershipGame(
        opened,
        people=people,
        policy=wish.of_group(people, aggregate, listed or ()),
        aggregate=aggregate,  # type: ignore[arg-type]  # checked there
        range=ends,
        person=person,
        order=order,
        columns=listed,
        drop=drop,  # type: ignore[arg-type]  # checked there
    )
    with progress_bar({"play": "Playing games"}) as progress:
        finding = game.play(games, seed=seed, progress=progress)
    tell_finding(finding, html=html, json=json, gate=gate)


@reads_tables
def load_monitoring_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    table: Tables,
    total: Annotated[
        str | None,
        typer.Option(
            "--total",
            metavar="COL",
            help="The column of the home's total; default: the sum of the appliances.",
        ),
    ] = None,
    appliances: Annotated[
        list[str] | None,
        typer.Option(
            "--appliances",
            metavar="COL[,COL]",
            help="The columns of appliances; default: all other numeric columns.",
        ),
    ] = None,
    train: Annotated[
        str,
        typer.Option(
            "--train",
            metavar="SHARE",
            help="Learn from this share, or this number, of the first rows.",
        ),
    ] = "0.25",
    states: Annotated[
        int,
        typer.Option(
            "--states",
            metavar="N",
            help="The largest number of states of an appliance, including off.",
        ),
    ] = 3,
    on: Annotated[
        float, typer.Option("--on", metavar="W", help="Count an appliance as on above this power.")
    ] = 10,
    policy: PolicyFile = None,
    bits: Bits = None,
    levels: Levels = None,
    span: Span = None,
    seed: Seed = 0,
    reading: ReadingOptions = AS_WRITTEN,
    html: Html = None,
    fail_above: FailAboveNumber = None,
    junit: Junit = None,
    sarif: Sarif = None,
    json: Format = None,
) -> None:
    """Recognise from the consumption of a home when its appliances run.

    The rows must be in the order of time. Without --policy, --bits or --levels the total is
    released unchanged.

    [dim]Example: hartley attack load-monitoring home.parquet --total main --appliances fridge,oven
    --range 0:6000 --bits 3[/dim]
    """
    from hartley.attacks.load_monitoring import LoadMonitoring

    gate = FindingGate("attack load-monitoring", [*table], fail_above, NEVER, junit, sarif)
    check_page(html, [*table, *([policy] if policy else [])])
    opened = open_tables(table, reading)
    ends = _ends(span, "--range") if span else None
    part = parse_number(train, name="the share to learn from")
    home = LoadMonitoring(
        opened,
        total=total,
        columns=split_columns(appliances, opened.columns) if appliances else None,
        train=int(part) if part.denominator == 1 else float(part),
        states=states,
        on=on,
    )
    released = _Wish(policy, bits, levels, ends).of_one()
    tell_finding(home.attack(released, seed=seed), html=html, json=json, gate=gate)


@reads_tables
def uniqueness_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    table: Tables,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            metavar="COL[,COL]",
            help="The released columns; default: those of the policy, or the keys of --roles.",
        ),
    ] = None,
    roles: RolesFile = None,
    policy: PolicyFile = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            "--grid",
            metavar="COL=LOW:HIGH",
            help="Release this coordinate in floor(2^(bits/2)) equal cells; needs --bits.",
        ),
    ] = None,
    bits: Annotated[
        str | None,
        typer.Option(
            "--bits", metavar="E", help="The budget in bits of a point with two coordinates."
        ),
    ] = None,
    person: Person = None,
    known: Annotated[
        str | None,
        typer.Option(
            "--known",
            metavar="M|all",
            help="Count the people whom up to this many of their points single out.",
        ),
    ] = None,
    trials: Annotated[
        int,
        typer.Option(
            "--trials", metavar="N", help="The number of random draws of a person and points."
        ),
    ] = 10_000,
    seed: Seed = 0,
    reading: ReadingOptions = AS_WRITTEN,
    html: Html = None,
    fail_above: FailAboveNumber = None,
    fail_on: FailOnSuccess = NEVER,
    junit: Junit = None,
    sarif: Sarif = None,
    json: Format = None,
) -> None:
    """Count the unique records of a TABLE, or the people whom a few points single out.

    [dim]Example: hartley attack uniqueness trips.parquet --columns start,end --person rider
    --known 4[/dim]
    """
    from hartley.attacks.uniqueness import Uniqueness
    from hartley.schema.roles import chosen_columns

    gate = FindingGate("attack uniqueness", [*table], fail_above, fail_on, junit, sarif)
    check_page(html, [*table, *([policy] if policy else [])])
    opened = open_tables(table, reading, roles=roles)
    released = parse_columns(columns, opened.columns)
    if roles is not None and policy is None and not grid:
        released = list(chosen_columns(read_roles(roles, reading), released, "key", what="key"))
    attack = Uniqueness(
        opened,
        released,
        policy=_document(policy, grid or [], bits),
        person=person,
    )
    if known not in (None, "all") and not (known.isascii() and known.isdigit()):
        raise OptionError(
            f"The option --known {known} is not a number of points",
            hint="write for example --known 4, or --known all",
        )
    number = known if known is None or known == "all" else int(known)
    with progress_bar({"draw": "Drawing points"}) as progress:
        finding = attack.attack(number, trials=trials, seed=seed, progress=progress)  # type: ignore[arg-type]  # "all" or a number
    tell_finding(finding, html=html, json=json, gate=gate)


# --- what is released ---------------------------------------------------------------------------


class _Wish(NamedTuple):
    """The options that say how numbers are released."""

    policy: Path | None
    bits: str | None
    levels: int | None
    ends: tuple[Fraction, Fraction] | None

    def of_one(self) -> Quantizer | None:
        """Return the quantizer for the readings of a single home."""
        if self.policy is None:
            return self._equal_cells(times=1, share=1)
        self._check_alone()
        quantizers = _quantizers(self.policy)
        if len(quantizers) > 1:
            raise OptionError(
                f"The policy file {self.policy} releases {len(quantizers)} columns, not one signal",
                hint="write a policy of one column",
            )
        return next(iter(quantizers.values()))

    def of_group(
        self, people: int, aggregate: str, columns: Sequence[str]
    ) -> Quantizer | list[Quantizer] | None:
        """Return the policy of an aggregate: one quantizer, or one per column of readings."""
        if self.policy is None:
            whole = aggregate == "sum"
            return self._equal_cells(times=people if whole else 1, share=1 if whole else people)
        self._check_alone()
        quantizers = _quantizers(self.policy)
        if len(quantizers) == 1:
            return next(iter(quantizers.values()))
        if list(quantizers) != list(columns):
            raise OptionError(
                f"The policy file {self.policy} does not release the columns of readings in order",
                hint="write a policy of one column, or of those under --columns in their order",
            )
        return list(quantizers.values())

    def _equal_cells(self, *, times: int, share: int) -> Quantizer | None:
        """Return equal cells over the range ``times`` times; one person moves it by range/share."""
        from hartley.policies.quantizer import UniformQuantizer

        if self.bits is None and self.levels is None:
            return None
        if self.ends is None or (self.bits is not None and self.levels is not None):
            raise OptionError(
                "Equal cells need a range, and either a budget or a number of cells",
                hint="write for example --range 0:10 --bits 2, or --range 0:10 --levels 16",
            )
        low, high = (times * end for end in self.ends)
        if self.levels is not None:
            return UniformQuantizer(low, high, self.levels)
        return UniformQuantizer.for_bits(
            low=low, high=high, sensitivity=(self.ends[1] - self.ends[0]) / share, bits=self.bits
        )

    def _check_alone(self) -> None:
        if self.bits is not None or self.levels is not None:
            raise OptionError(
                "The policy file sets the number of cells already",
                hint="leave out --bits and --levels",
            )


def _quantizers(path: Path) -> dict[str, Quantizer]:
    """Return the quantizers of a policy file by column."""
    from hartley.policies.document import PolicyDocument

    quantizers: dict[str, Quantizer] = {}
    for column in PolicyDocument.load(path).columns:
        if column.cells is None:
            raise OptionError(
                f"The policy file {path} releases column '{column.name}' by {column.kind}, not in "
                "cells",
                hint="attack a policy of quantizers or cuts",
            )
        quantizers[column.name] = column.cells
    return quantizers


def _document(policy: Path | None, grid: list[str], bits: str | None) -> PolicyDocument | None:
    """Return the policy of records: from a file, on a grid, or None."""
    from hartley.attacks.uniqueness import grid_policy
    from hartley.policies.document import PolicyDocument

    if bool(grid) != (bits is not None) or (grid and policy is not None):
        raise OptionError(
            "The options --grid and --bits go together, and not with --policy",
            hint="write --grid lat=40:41 --grid lon=-75:-73 --bits 6, or --policy FILE",
        )
    if policy is not None:
        return PolicyDocument.load(policy)
    if not grid:
        return None
    ranges = split_settings(grid, "--grid", "COL=LOW:HIGH")
    return grid_policy({name: _ends(text, "--grid") for name, text in ranges.items()}, bits)


def _spread(names: list[str], columns: Sequence[str]) -> list[str]:
    """Replace every FIRST...LAST with the columns of a table from the first to the last."""
    spread: list[str] = []
    for name in names:
        first, dots, last = name.partition("...")
        if name in columns or not dots or first not in columns or last not in columns:
            spread.append(name)
        else:
            spread += columns[columns.index(first) : columns.index(last) + 1]
    return spread


def _ends(text: str, option: str) -> tuple[Fraction, Fraction]:
    """Read two numbers that are separated by a colon."""
    low, colon, high = text.partition(":")
    if not colon:
        raise OptionError(
            f"The range {text} of {option} has no colon", hint="write LOW:HIGH, for example 0:10"
        )
    name = f"an end of the range of {option}"
    return parse_number(low, name=name), parse_number(high, name=name)
