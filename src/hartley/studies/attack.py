"""Attacks on your own release or agent: one function for each, as ``hartley attack`` runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from hartley.engines.table import names_of
from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.schema.roles import chosen_columns, open_for
from hartley.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from hartley.attacks.differencing import DifferencingFinding
    from hartley.attacks.finding import AttackResult
    from hartley.inputs import (
        Column,
        Columns,
        Condition,
        Document,
        Ends,
        Groups,
        InputFile,
        LedgerAddress,
        MoreRows,
        Number,
        Progress,
        Rows,
        Settings,
        Text,
    )
    from hartley.knowledge.transcript import Transcript
    from hartley.policies.document import PolicyDocument
    from hartley.policies.quantizer import Quantizer
    from hartley.ranges.relation import Relation, RowType
    from hartley.schema.roles import RolesSource


def attack_homogeneity(  # noqa: PLR0913 - each is one choice of the user's
    table: Rows,
    *,
    keys: Columns | None = None,
    confidential: Columns | None = None,
    roles: RolesSource | None = None,
    near: Settings | None = None,
    hierarchy: Groups | None = None,
    times: int = 2,
) -> AttackResult:
    """Learn confidential values from classes of equal keys, however large k is.

    Args:
        table: a table, in all forms that ``open_table`` takes, or one already open.
        keys: The columns by which a person could be recognised.
        confidential: The confidential columns.
        roles: the confirmed roles, which name the columns that are not given.
        near: Treat confidential numbers that are this close together as equal.
        hierarchy: A CSV file: each line has a confidential value and its groups, from narrow to
            wide.
        times: Count a value as skewed if it is this many times as likely as in the table.

    Example:
        >>> ward = {"age": [30, 30, 40], "ill": ["flu", "flu", "hiv"]}
        >>> attack_homogeneity(ward, keys="age", confidential="ill").number.value
        1.0
    """
    from hartley.attacks.finding import join_findings
    from hartley.attacks.homogeneity import Homogeneity, Similarity, Skewness

    opened, known = open_for(table, roles)
    shared = chosen_columns(known, keys, "key", what="key")
    hidden = chosen_columns(known, confidential, "confidential", what="confidential")
    for name in (*(near or ()), *(hierarchy or ())):
        if name not in hidden:
            raise OptionError(
                f"Column '{name}' has a distance or a hierarchy but is not confidential",
                hint="name it under --confidential, or leave it out",
            )
    made = [
        Homogeneity(shared, hidden).attack(opened),
        Skewness(shared, hidden, times).attack(opened),
    ]
    if near or hierarchy:
        made.append(Similarity(shared, near or {}, hierarchy or {}).attack(opened))
    return join_findings(made)


def attack_guessing(  # noqa: PLR0913 - each is one choice of the user's
    table: Rows,
    *,
    secret: Columns | RowType | None = None,
    released: Columns | None = None,
    attribute: Column | None = None,
    roles: RolesSource | None = None,
    bins: Settings | None = None,
    missing: Literal["released", "value", "drop"] = "released",
) -> AttackResult:
    """Count the trials a brute-force guesser needs, with and without a release.

    Args:
        table: a table, in all forms that ``open_table`` takes, or one already open.
        secret: The secret columns, or ROW for the record itself.
        released: The released columns.
        attribute: Guess only this one of the secret columns.
        roles: the confirmed roles, which name the columns that are not given.
        bins: Release a numeric column in bins of this width.
        missing: How to treat missing values. released: a missing released value is a value, rows
            with a missing secret are left out; value: missing is a value on both sides; drop: every
            row with a missing value is left out.

    Example:
        >>> ward = {"age": [30, 30, 40], "ill": ["flu", "hiv", "hiv"]}
        >>> attack_guessing(ward, secret="ill", released="age").number.value
        1.0
    """
    from hartley.attacks.guessing import BruteForceGuessing

    relation = _relation(table, roles, secret, released, bins, missing)
    return BruteForceGuessing(attribute).attack(relation)


def attack_hypothesis(  # noqa: PLR0913 - each is one choice of the user's
    table: Rows,
    *,
    hypothesis: Condition,
    secret: Columns | RowType | None = None,
    released: Columns | None = None,
    roles: RolesSource | None = None,
    bins: Settings | None = None,
    missing: Literal["released", "value", "drop"] = "released",
) -> AttackResult:
    """Count the rows for which a release decides a hypothesis about the secret for certain.

    Args:
        table: a table, in all forms that ``open_table`` takes, or one already open.
        hypothesis: The condition on the secret to decide, for example "age >= 50".
        secret: The secret columns, or ROW for the record itself.
        released: The released columns.
        roles: the confirmed roles, which name the columns that are not given.
        bins: Release a numeric column in bins of this width.
        missing: How to treat missing values. released: a missing released value is a value, rows
            with a missing secret are left out; value: missing is a value on both sides; drop: every
            row with a missing value is left out.

    Example:
        >>> people = {"age": [30, 60, 40], "job": ["a", "b", "a"]}
        >>> old = "age >= 50"
        >>> attack_hypothesis(people, hypothesis=old, secret="age", released="job").number.value
        1.0
    """
    from hartley.attacks.guessing import HypothesisTesting

    relation = _relation(table, roles, secret, released, bins, missing)
    return HypothesisTesting(hypothesis).attack(relation)


def attack_reconstruction(
    ledger: LedgerAddress,
    *,
    schema: Document | None = None,
    dataset: Text | None = None,
    data: MoreRows | None = None,
) -> AttackResult:
    """Combine all answers of an agent: what they settle, for how many people, and the promise.

    Args:
        ledger: The agent's ledger: a file or postgresql://...
        schema: The public schema, in TOML; default: the one recorded in the ledger.
        dataset: The dataset to attack, if the ledger has several.
        data: The true table, to compare what the adversary learns with the truth.

    Example:
        >>> import hartley, tempfile
        >>> from pathlib import Path
        >>> columns = {"age": {"kind": "private", "range": [0, 3], "step": 1}}
        >>> schema = {"table": {"name": "t"}, "columns": columns}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = Path(folder, "ledger.db")
        ...     with hartley.Agent({"age": [3]}, schema, budget=4, ledger=ledger) as agent:
        ...         _ = agent.ask("SELECT SUM(age) FROM t", error=0)
        ...     attack_reconstruction(ledger).truth_inside is None
        True
    """
    from hartley.attacks.reconstruction import Reconstruction

    return Reconstruction().attack(*_transcripts(ledger, schema, dataset, data))


def attack_differencing(
    ledger: LedgerAddress,
    *,
    schema: Document | None = None,
    dataset: Text | None = None,
    data: MoreRows | None = None,
    rows: int = 1,
) -> DifferencingFinding:
    """Combine answers of an agent so that everybody but a few rows cancels out.

    Args:
        ledger: The agent's ledger: a file or postgresql://...
        schema: The public schema, in TOML; default: the one recorded in the ledger.
        dataset: The dataset to attack, if the ledger has several.
        data: The true table, to compare what the adversary learns with the truth.
        rows: Count a set of at most this many rows as isolated.

    Example:
        >>> import hartley, tempfile
        >>> from pathlib import Path
        >>> columns = {"age": {"kind": "private", "range": [0, 3], "step": 1}}
        >>> schema = {"table": {"name": "t"}, "columns": columns}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = Path(folder, "ledger.db")
        ...     with hartley.Agent({"age": [3]}, schema, budget=4, ledger=ledger) as agent:
        ...         _ = agent.ask("SELECT SUM(age) FROM t", error=0)
        ...     attack_differencing(ledger).number.value
        0.75
    """
    from hartley.attacks.differencing import Differencing

    return Differencing(rows).attack(*_transcripts(ledger, schema, dataset, data))


def attack_membership(  # noqa: PLR0913 - each is one choice of the user's
    table: Rows,
    *,
    people: int,
    person: Column | None = None,
    order: Column | None = None,
    columns: Columns | None = None,
    drop: Literal["people", "times"] = "people",
    aggregate: Literal["mean", "sum"] = "mean",
    policy: InputFile | None = None,
    bits: Number | None = None,
    levels: int | None = None,
    span: Ends | None = None,
    games: int = 10_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> AttackResult:
    """Guess which of two people is in a group whose aggregate is released, in repeated games.

    Args:
        table: Parquet or CSV files; without --person every row is a person.
        people: The number of people in a group.
        person: The column that identifies the person of each row.
        order: The column that orders a person's rows.
        columns: The columns of readings, or FIRST...LAST; default: all other numeric columns.
        drop: Leave out people with missing readings, or the times at which somebody's reading is
            missing.
        aggregate: The released aggregate of a group.
        policy: Release the readings by this policy file.
        bits: Release equal cells that keep within this budget in bits.
        levels: Number of equal cells in the release.
        span: The smallest and the largest possible reading.
        games: The number of games to play.
        seed: The seed of the random draws; the same seed repeats the attack.
        progress: called with "play" and the share of the games that is played.

    Example:
        >>> homes = {"monday": [1, 5, 2, 8], "tuesday": [1, 6, 2, 7]}
        >>> attack_membership(homes, people=2, games=100).number.value
        0.74
    """
    from hartley.attacks.membership import MembershipGame

    opened = open_table(table)
    listed = None if columns is None else _spread(columns, opened.columns)
    ends = _ends(span)
    game = MembershipGame(
        opened,
        people=people,
        policy=_group_cells(policy, bits, levels, ends, people, aggregate, listed or ()),
        aggregate=aggregate,
        range=ends,
        person=person,
        order=order,
        columns=listed,
        drop=drop,
    )
    return game.play(games, seed=seed, progress=progress)


def attack_load_monitoring(  # noqa: PLR0913 - each is one choice of the user's
    table: Rows,
    *,
    total: Column | None = None,
    appliances: Columns | None = None,
    train: Number = "0.25",
    states: int = 3,
    on: float = 10,
    policy: InputFile | None = None,
    bits: Number | None = None,
    levels: int | None = None,
    span: Ends | None = None,
    seed: int = 0,
) -> AttackResult:
    """Recognise from the consumption of a home when its appliances run.

    Args:
        table: a table whose rows are in the order of time.
        total: The column of the home's total; default: the sum of the appliances.
        appliances: The columns of appliances; default: all other numeric columns.
        train: Learn from this share, or this number, of the first rows.
        states: The largest number of states of an appliance, including off.
        on: Count an appliance as on above this power.
        policy: Release the readings by this policy file.
        bits: Release equal cells that keep within this budget in bits.
        levels: Number of equal cells in the release.
        span: The smallest and the largest possible reading.
        seed: The seed of the random draws; the same seed repeats the attack.

    Example:
        >>> home = {"total": [100, 0] * 20, "oven": [100, 0] * 20}
        >>> attack_load_monitoring(home, total="total").number.value
        1.0
    """
    from hartley.attacks.load_monitoring import LoadMonitoring

    part = parse_number(train, name="the share to learn from")
    home = LoadMonitoring(
        open_table(table),
        total=total,
        columns=None if appliances is None else names_of(appliances),
        train=int(part) if part.denominator == 1 else float(part),
        states=states,
        on=on,
    )
    return home.attack(_signal_cells(policy, bits, levels, _ends(span)), seed=seed)


def attack_uniqueness(  # noqa: PLR0913 - each is one choice of the user's
    table: Rows,
    columns: Columns | None = None,
    *,
    roles: RolesSource | None = None,
    policy: InputFile | None = None,
    grid: Settings | None = None,
    bits: Number | None = None,
    person: Column | None = None,
    known: Text | int | None = None,
    trials: int = 10_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> AttackResult:
    """Count the unique records of a table, or the people whom a few points single out.

    Args:
        table: a table, in all forms that ``open_table`` takes, or one already open.
        columns: The released columns; default: those of the policy, or the keys of the roles.
        roles: the confirmed roles, which name the columns that are not given.
        policy: Release the records by this policy file.
        grid: Release this coordinate in floor(2^(bits/2)) equal cells; needs --bits.
        bits: The budget in bits of a point with two coordinates.
        person: The column that identifies the person of each row.
        known: Count the people whom up to this many of their points single out.
        trials: The number of random draws of a person and points.
        seed: The seed of the random draws; the same seed repeats the attack.
        progress: called with "draw" and the share of the draws that is done.

    Example:
        >>> attack_uniqueness({"age": [30, 30, 40]}, "age").number.value
        0.3333333333333333
    """
    from hartley.attacks.uniqueness import Uniqueness

    opened, known_roles = open_for(table, roles)
    if known_roles is not None and policy is None and not grid:
        columns = chosen_columns(known_roles, columns, "key", what="key")
    if columns is not None:
        columns = names_of(columns)
    attack = Uniqueness(opened, columns, policy=_grid_policy(policy, grid, bits), person=person)
    if not (known in (None, "all") or (str(known).isascii() and str(known).isdigit())):
        raise OptionError(
            f"The option --known {known} is not a number of points",
            hint="write for example --known 4, or --known all",
        )
    points: Any = known if known in (None, "all") else int(known)
    return attack.attack(points, trials=trials, seed=seed, progress=progress)


# --- what is read ---------------------------------------------------------------------------------


def _relation(  # noqa: PLR0913, PLR0917 - what an attack was given
    table: Any,  # noqa: ANN401 - a table in any form
    roles: RolesSource | None,
    secret: Columns | RowType | None,
    released: Columns | None,
    bins: Settings | None,
    missing: str,
) -> Relation:
    from hartley.ranges.relation import ROW, Relation, RowType

    opened, known = open_for(table, roles)
    if secret in ("ROW", ["ROW"]) and "ROW" not in opened.columns:
        secret = ROW
    if not isinstance(secret, RowType):
        secret = chosen_columns(known, secret, "confidential", what="secret")
    return Relation.from_table(
        opened,
        secret=secret,
        released=chosen_columns(known, released, "key", what="released"),
        bins=bins or {},
        missing=missing,
    )


def _transcripts(
    ledger: LedgerAddress,
    schema: Document | None,
    dataset: str | None,
    data: Any,  # noqa: ANN401 - a table in any form
) -> tuple[Transcript, ...]:
    from hartley.agent.ledger import open_ledger
    from hartley.agent.transcript import transcripts_of
    from hartley.schema.schema import Schema

    with open_ledger(ledger, create=False) as opened:
        return transcripts_of(
            opened,
            dataset,
            schema=None if schema is None else Schema.read(schema),
            data=None if data is None else open_table(data),
        )


def _spread(names: str | Sequence[str], columns: Sequence[str]) -> list[str]:
    """Replace every FIRST...LAST with the columns of a table from the first to the last."""
    spread: list[str] = []
    for name in names_of(names):
        first, dots, last = name.partition("...")
        if name in columns or not dots or first not in columns or last not in columns:
            spread.append(name)
        else:
            spread += columns[columns.index(first) : columns.index(last) + 1]
    return spread


def _ends(span: Any, option: str = "--range") -> tuple[Fraction, Fraction] | None:  # noqa: ANN401 - a text or a pair
    """Read two numbers that a colon separates, or a pair of numbers."""
    if span is None:
        return None
    low, colon, high = span.partition(":") if isinstance(span, str) else (span[0], ":", span[1])
    if not colon:
        raise OptionError(
            f"The range {span} of {option} has no colon", hint="write LOW:HIGH, for example 0:10"
        )
    name = f"an end of the range of {option}"
    return parse_number(low, name=name), parse_number(high, name=name)


# --- what is released ---------------------------------------------------------------------------


def _signal_cells(
    policy: InputFile | None,
    bits: object,
    levels: int | None,
    ends: tuple[Fraction, Fraction] | None,
) -> Quantizer | None:
    """Return the quantizer for the readings of a single home."""
    if policy is None:
        return _equal_cells(bits, levels, ends, times=1, share=1)
    quantizers = _quantizers(policy, bits, levels)
    if len(quantizers) > 1:
        raise OptionError(
            f"The policy file {policy} releases {len(quantizers)} columns, not one signal",
            hint="write a policy of one column",
        )
    return next(iter(quantizers.values()))


def _group_cells(  # noqa: PLR0913, PLR0917 - what an attack was given
    policy: InputFile | None,
    bits: object,
    levels: int | None,
    ends: tuple[Fraction, Fraction] | None,
    people: int,
    aggregate: str,
    columns: Sequence[str],
) -> Quantizer | list[Quantizer] | None:
    """Return the policy of an aggregate: one quantizer, or one per column of readings."""
    if policy is None:
        whole = aggregate == "sum"
        times, share = (people, 1) if whole else (1, people)
        return _equal_cells(bits, levels, ends, times=times, share=share)
    quantizers = _quantizers(policy, bits, levels)
    if len(quantizers) == 1:
        return next(iter(quantizers.values()))
    if list(quantizers) != list(columns):
        raise OptionError(
            f"The policy file {policy} does not release the columns of readings in order",
            hint="write a policy of one column, or of those under --columns in their order",
        )
    return list(quantizers.values())


def _equal_cells(
    bits: object,
    levels: int | None,
    ends: tuple[Fraction, Fraction] | None,
    *,
    times: int,
    share: int,
) -> Quantizer | None:
    """Return equal cells over the range ``times`` times; one person moves it by range/share."""
    from hartley.policies.quantizer import UniformQuantizer

    if bits is None and levels is None:
        return None
    if ends is None or (bits is not None and levels is not None):
        raise OptionError(
            "Equal cells need a range, and either a budget or a number of cells",
            hint="write for example --range 0:10 --bits 2, or --range 0:10 --levels 16",
        )
    low, high = (times * end for end in ends)
    if levels is not None:
        return UniformQuantizer(low, high, levels)
    moves = (ends[1] - ends[0]) / share
    return UniformQuantizer.for_bits(low=low, high=high, sensitivity=moves, bits=bits)


def _quantizers(policy: InputFile, bits: object, levels: int | None) -> dict[str, Quantizer]:
    """Return the quantizers of a policy file by column."""
    from hartley.policies.document import PolicyDocument

    if bits is not None or levels is not None:
        raise OptionError(
            "The policy file sets the number of cells already", hint="leave out --bits and --levels"
        )
    quantizers: dict[str, Quantizer] = {}
    for column in PolicyDocument.load(policy).columns:
        if column.cells is None:
            raise OptionError(
                f"The policy file {policy} releases column '{column.name}' by {column.kind}, not "
                "in cells",
                hint="attack a policy of quantizers or cuts",
            )
        quantizers[column.name] = column.cells
    return quantizers


def _grid_policy(
    policy: InputFile | None, grid: Mapping[str, object] | None, bits: object
) -> PolicyDocument | None:
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
    ranges: Any = {name: _ends(span, "--grid") for name, span in (grid or {}).items()}
    return grid_policy(ranges, bits) if ranges else None
