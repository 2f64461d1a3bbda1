"""What a policy file gives away about released records, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.attacks.finding import AttackEstimate, AttackResult
from hartley.attacks.policy_search import size_of
from hartley.errors import printable
from hartley.report import Chart, Panel, Readable, Report, Section, Series
from hartley.text import bits_down, conjugate, count_of, few_digits, listed, number, percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.attacks.policy_search import PossibleInputs


CLASSES = (("1", 1), ("2 to 9", 9), ("10 to 99", 99), ("100 to 999", 999), ("more", math.inf))


@dataclass(frozen=True)
class ColumnInversion:
    """What remains possible of one column of the table, over all released records."""

    name: str
    rows: int
    """The records that were looked at; in others something is missing."""
    left_out: int
    impossible: int = 0
    """Records that no possible input is released as."""
    single: int = 0
    """Records for which one value is left."""
    fewest: int = 0
    """The number of values left where fewest are, of records that are possible."""
    typical: int = 0
    """The number of values left for the record in the middle."""
    values: int | None = None
    """How many values there are before the release; None of numbers without a step."""
    narrowest: float | None = None
    """The width of the interval of all that is left where it is narrowest; None of categories."""
    typical_width: float | None = None
    boundless: int = 0
    """Records for which also values that no list names are possible."""
    best_guess: float | None = None
    """How likely the best guess is, of what is drawn, where it is likeliest."""
    released_as_is: bool = False
    known: bool = False
    stepped: bool = True
    shares: tuple[float, ...] = ()
    """The shares of the records with 1, 2 to 9, 10 to 99, 100 to 999 and more values left."""
    records: Any = field(default=None, compare=False, repr=False)
    """The different records as an Arrow table: ``rows``, ``possible``, ``least``, ``largest``, what
    is ``released`` of each and what is ``known``; no part of what is shown."""

    @property
    def share(self) -> Fraction:
        """The share of the records for which one value is left."""
        return Fraction(self.single, self.rows) if self.rows else Fraction(0)

    @property
    def bits(self) -> tuple[float, float]:
        """The bits that are left where fewest are, and for the record in the middle."""
        return math.log2(max(self.fewest, 1)), math.log2(max(self.typical, 1))

    @property
    def sentence(self) -> str:
        """What is left of the column, in one sentence."""
        name, rows = printable(self.name), count_of(self.rows, "record")
        if self.known:
            return f"{name} is known beforehand, for {rows}."
        if self.released_as_is:
            return f"{name} is released as it is: it is settled for {rows}."
        if not self.rows:
            return f"Of {name} there is no record without a missing value."
        if self.single == self.rows:
            return f"Of {name}, a single value is left for every record.{self._more}"
        settled = "none" if not self.single else f"{self.single:,}"
        share = f" ({percent(self.share, round='up')})" if self.single else ""
        return (
            f"Of {name}, a single value is left for {settled} of {rows}{share}; {self._left}."
            f"{self._more}"
        )

    @property
    def _left(self) -> str:
        if not self.stepped:
            widths = (self.narrowest or 0.0, self.typical_width or 0.0)
            worst, typical = (number(width, 4, round="down") for width in widths)
            return f"what is left spans a width of {worst} at least, and typically {typical}"
        of = "" if self.values is None else f" of {self.values:,}"
        worst, typical = map(bits_down, self.bits)
        return (
            f"at least {self.fewest:,}{of} {conjugate(self.fewest, 'is')} left ({worst}), and "
            f"typically {self.typical:,} ({typical})"
        )

    @property
    def _more(self) -> str:
        text = ""
        if self.boundless:
            text += (
                f" For {count_of(self.boundless, 'record')} values that the policy does not list "
                "are possible too, and count as one."
            )
        if self.best_guess is not None:
            text += (
                " If all values are equally likely before, the best guess is right with "
                f"probability {few_digits(self.best_guess)} where it is likeliest."
            )
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values, ready for JSON."""
        bits = [round(bits, 6) for bits in self.bits]
        return {
            "name": self.name,
            "rows": self.rows,
            "left_out": self.left_out,
            "impossible": self.impossible,
            "single": self.single,
            "fewest": self.fewest,
            "typical": self.typical,
            "fewest_bits": bits[0],
            "typical_bits": bits[1],
            "values": self.values,
            "narrowest": self.narrowest,
            "typical_width": self.typical_width,
            "boundless": self.boundless,
            "best_guess": self.best_guess,
            "released_as_is": self.released_as_is,
            "known": self.known,
            "stepped": self.stepped,
        }


@dataclass(frozen=True)
class HiddenHypothesis(Readable):
    """For how many records a hypothesis that the policy hides is decided all the same."""

    text: str
    true: int
    false: int
    open: int
    promised: int
    """Records that the policy is to leave open, as their released values show."""
    broken: int
    """Those of them for which it is decided."""
    stepped: bool
    """Whether values were tried on a step, and not as doubles."""
    beyond: str = ""
    """What is known beside the release that the promise does not allow for; empty if nothing."""
    records: Any = field(default=None, compare=False, repr=False)
    """The different records as an Arrow table: ``rows``, ``can_hold``, ``can_fail``, ``released``
    and ``known``; no part of what is shown."""

    @property
    def decided(self) -> int:
        """Records for which it is decided."""
        return self.true + self.false

    @property
    def rows(self) -> int:
        """Records that were looked at."""
        return self.decided + self.open

    @property
    def shares(self) -> tuple[float, float, float]:
        """The shares of the records for which it is certainly true, certainly false and open."""
        rows = max(self.rows, 1)
        return self.true / rows, self.false / rows, self.open / rows

    @property
    def share(self) -> Fraction:
        """The share of the records for which it is decided."""
        return Fraction(self.decided, self.rows) if self.rows else Fraction(0)

    @property
    def headline(self) -> str:
        """For how many records it is decided, in one sentence."""
        text, rows = printable(self.text), count_of(self.rows, "record")
        if not self.decided:
            return f"Whether {text} stays open for every record."
        if not self.open:
            return f"Whether {text} is decided for every record: nothing of it is hidden."
        return (
            f"Whether {text} is decided for {self.decided:,} of {rows} "
            f"({percent(self.share, round='up')}), and stays open for {self.open:,}."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """How it is decided, and what was promised."""
        text = printable(self.text)
        how = (
            f"It is certain that {text} for {count_of(self.true, 'record')}, and that it is not so "
            f"for {self.false:,}."
        )
        if self.beyond:
            return how, (
                "The certificate promises nothing against an adversary who knows as much about "
                f"{self.beyond}."
            )
        cause = "and what is released are doubles, which have gaps"
        if self.stepped:
            cause = "lie on a step or the release rounds them to doubles"
        if self.broken:
            return how, (
                f"PROMISE NOT KEPT: the policy is to leave open whether {text} for "
                f"{count_of(self.promised, 'record')}, but the release shows it for "
                f"{self.broken:,} of them, because values {cause}."
            )
        if not self.promised:
            return how, "No record lies where the policy promises to leave it open."
        return how, (
            "The promise is kept: it stays open for all "
            f"{count_of(self.promised, 'record')} that the policy is to leave open."
        )

    def report(self) -> Report:
        """Return it in sentences."""
        found = Section("What was found", points=self.sentences)
        return Report(f"Whether {printable(self.text)}", self.headline, (), (found,))

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values, ready for JSON."""
        return {
            "hypothesis": self.text,
            "true": self.true,
            "false": self.false,
            "open": self.open,
            "promised_open": self.promised,
            "promised_but_decided": self.broken,
            "stepped": self.stepped,
            "known_beyond_the_promise": self.beyond or None,
        }


@dataclass(frozen=True)
class OutputCount:
    """How many values of a column can be released, and how many were."""

    name: str
    promised: int
    seen: int

    @property
    def within_promise(self) -> bool:
        """Whether no more values occur than are promised."""
        return self.seen <= self.promised

    @property
    def sentence(self) -> str:
        """How many values can be released, and how many were."""
        name = printable(self.name)
        if self.within_promise:
            promised = count_of(self.promised, "value")
            return f"{promised} of {name} can be released, and {self.seen:,} occur."
        return (
            f"PROMISE NOT KEPT: {self.seen:,} different values of {name} were released, and the "
            f"policy promises {self.promised:,} at most."
        )


@dataclass(frozen=True)
class PolicyFinding(AttackResult):
    """What a policy file gives away about the records that were released by it; exact."""

    table: str
    columns: tuple[ColumnInversion, ...]
    hypotheses: tuple[HiddenHypothesis, ...]
    outputs: tuple[OutputCount, ...]
    underived: tuple[tuple[tuple[str, ...], str], ...] = ()
    """Columns about which nothing was worked out, and why."""
    knowledge: tuple[str, ...] = ()
    """What is known beside the policy and the release, a sentence each."""
    promise: str = ""
    """What the certificate of the policy claims; empty where nobody asked for it."""

    @property
    def measured(self) -> str:
        """What the number is."""
        if self.hypotheses:
            return "share of records for which the hidden hypothesis is decided"
        return "share of records for which a single value is left"

    @property
    def worst(self) -> ColumnInversion | None:
        """The column of which most records are settled, those released as they are set aside."""
        moved = [c for c in self.columns if not c.released_as_is and not c.known and c.rows]
        return max(moved, key=lambda column: (column.share, -column.fewest), default=None)

    @property
    def keeps_promise(self) -> bool:
        """Whether nothing that the policy promises is broken by what was released."""
        hidden = not any(hypothesis.broken for hypothesis in self.hypotheses)
        return hidden and all(output.within_promise for output in self.outputs)

    @property
    def fits_policy(self) -> bool:
        """Whether every released record can come from the policy."""
        return not any(column.impossible for column in self.columns)

    @property
    def number(self) -> AttackEstimate:
        """The share of records that are decided, or settled; exact."""
        if self.hypotheses:
            shares = [hypothesis.share for hypothesis in self.hypotheses]
            return AttackEstimate.exact(float(max(shares)))
        if self.worst is None:
            return AttackEstimate.exact(1.0 if self.columns else 0.0)
        return AttackEstimate.exact(float(self.worst.share))

    @property
    def headline(self) -> str:
        """What was found, in one plain sentence."""
        broken = "" if self.keeps_promise else "PROMISE NOT KEPT. "
        return (
            broken + ("" if self.fits_policy else "NOT RELEASED BY THIS POLICY. ") + self._headline
        )

    @property
    def _headline(self) -> str:
        if self.hypotheses:
            return max(self.hypotheses, key=lambda hypothesis: hypothesis.share).headline
        if self.worst is not None:
            return self.worst.sentence
        return "Every column that was worked out is released as it is, or was known before."

    @property
    def sentences(self) -> tuple[str, ...]:
        """What else is to be said, a sentence each."""
        said = [hypothesis.headline for hypothesis in self.hypotheses]
        said += [sentence for hypothesis in self.hypotheses for sentence in hypothesis.sentences]
        said += [column.sentence for column in self.columns]
        said += [sentence for column in self.columns for sentence in _oddities(column)]
        said += [output.sentence for output in self.outputs]
        said += [
            f"Nothing was worked out about {listed(map(printable, names))}: {reason}."
            for names, reason in self.underived
        ]
        said += self.knowledge
        said.append(
            "Possible does not mean equally likely, and values outside a declared range are taken "
            "as its nearest end."
        )
        if self.promise:
            said.append(f"The certificate of the policy says: {self.promise}")
        return tuple(sentence for sentence in dict.fromkeys(said) if sentence != self._headline)

    def chart(self) -> Chart:
        """Return how many values are left for which share of the records."""
        panels = []
        places = tuple(place for place, _ in CLASSES)
        drawn = [c for c in self.columns if c.shares and not c.released_as_is and not c.known]
        if drawn:
            series = tuple(
                Series(printable(column.name), places, column.shares, "bars")
                for column in drawn[:6]  # a picture of more cannot be read
            )
            of = f" of {series[0].label}" if len(series) == 1 else ""
            panels.append(Panel(f"values{of} left", "share of records", series, from_zero=True))
        if self.hypotheses:
            sides = ("certainly true", "certainly false", "open")
            series = tuple(
                Series(printable(hypothesis.text), sides, hypothesis.shares, "bars")
                for hypothesis in self.hypotheses[:6]
            )
            label = series[0].label if len(series) == 1 else "hidden hypotheses"
            panels.append(Panel(label, "share of records", series, from_zero=True))
        if not panels:
            names = tuple(printable(column.name) for column in self.columns)
            shares = tuple(float(column.share) for column in self.columns)
            settled = Series("one value left", names, shares, "bars")
            panels.append(Panel("column", "share of records", (settled,), from_zero=True))
        return Chart("What the policy file gives away", tuple(panels))

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ready for JSON."""
        return {
            "format": 1,
            **self._said(),
            "keeps_promise": self.keeps_promise,
            "fits_policy": self.fits_policy,
            "columns": [column.to_dict() for column in self.columns],
            "hypotheses": [hypothesis.to_dict() for hypothesis in self.hypotheses],
            "outputs": list(map(vars, self.outputs)),
            "not_worked_out": [
                {"columns": list(names), "reason": reason} for names, reason in self.underived
            ],
            "promise": self.promise or None,
        }


def _oddities(column: ColumnInversion) -> list[str]:
    """Say how many records fit nothing, and how many were not looked at."""
    said = []
    name = printable(column.name)
    if column.impossible:
        said.append(
            f"NOT RELEASED BY THIS POLICY: {count_of(column.impossible, 'record')} cannot come "
            f"from it and the possible values of {name}: another policy released the table, or a "
            "step, a range or what is known beside it is wrong."
        )
    if column.left_out:
        said.append(
            f"{count_of(column.left_out, 'record')} in which a value is missing "
            f"{conjugate(column.left_out, 'is')} left out of what is said about {name}."
        )
    return said


# --- counted over all released records ------------------------------------------------------------


def column_inversions(possible: PossibleInputs) -> list[ColumnInversion]:
    """Return what is left of every unknown column of a part."""
    part, draws = possible.part, possible.part.draws
    sizes = {name: size_of(part.domains.get(name)) for name in part.unknown}
    if draws is not None:
        sizes |= {name: len(set(values)) for name, values in part.by_column(draws.values).items()}
    return [_column(possible, i, sizes[name]) for i, name in enumerate(part.unknown)]


def _column(possible: PossibleInputs, i: int, values: int | None) -> ColumnInversion:
    observed, counts = possible.observed, possible.counts[i]
    least, largest = possible.least[i], possible.largest[i]
    rows, fits = observed.rows, counts > 0
    single = fits & (counts == 1) & ~possible.boundless
    widths = largest - least
    classes = np.searchsorted([most for _, most in CLASSES], np.maximum(counts, 1))
    total = int(rows.sum())
    by_class = np.bincount(classes[fits], rows[fits], len(CLASSES)) / max(total, 1)
    has_width = bool(fits.any()) and not np.isnan(widths[fits]).any()
    best = possible.best_guess
    return ColumnInversion(
        name=possible.part.unknown[i],
        rows=total,
        left_out=observed.left_out,
        impossible=int(rows[~fits].sum()),
        single=int(rows[single].sum()),
        fewest=int(counts[fits].min()) if fits.any() else 0,
        typical=int(middle_of(counts[fits], rows[fits])),
        values=values,
        narrowest=float(widths[fits].min()) if has_width else None,
        typical_width=middle_of(widths[fits], rows[fits]) if has_width else None,
        boundless=int(rows[fits & possible.boundless].sum()),
        best_guess=None if best is None or not fits.any() else float(best[fits].max()),
        stepped=possible.stepped,
        shares=tuple(by_class.tolist()),
        records=_records(possible, possible=counts, least=least, largest=largest),
    )


def hidden_hypotheses(possible: PossibleInputs, beyond: str) -> list[HiddenHypothesis]:
    """Return for how many records each hypothesis that a part hides is decided."""
    observed, hypotheses = possible.observed, []
    for i, side in enumerate(possible.part.hidden):
        can_hold, can_fail = possible.can_hold[i], possible.can_fail[i]
        decided = can_hold ^ can_fail
        promised = possible.promised[i]
        hypotheses.append(
            HiddenHypothesis(
                text=side.text,
                true=int(observed.rows[can_hold & ~can_fail].sum()),
                false=int(observed.rows[~can_hold & can_fail].sum()),
                open=int(observed.rows[can_hold & can_fail].sum()),
                promised=0 if beyond else int(observed.rows[promised].sum()),
                broken=0 if beyond else int(observed.rows[promised & decided].sum()),
                stepped=possible.stepped,
                beyond=beyond,
                records=_records(possible, can_hold=can_hold, can_fail=can_fail),
            )
        )
    return hypotheses


def _records(inputs: PossibleInputs, **numbers: NDArray[Any]) -> Any:  # noqa: ANN401 - Arrow carries no types
    """Return the different records as an Arrow table, with what is possible for each."""
    import pyarrow as pa

    observed = inputs.observed
    values = {
        "released": dict(zip(inputs.part.released, observed.outputs, strict=True)),
        "known": dict(observed.fixed),
    }
    columns = {
        name: pa.StructArray.from_arrays(list(arrays.values()), list(arrays))
        for name, arrays in values.items()
        if arrays
    }
    return pa.table({"rows": observed.rows, **numbers, **columns})


def middle_of(numbers: NDArray[np.float64], rows: NDArray[np.int64]) -> float:
    """Return the number of the record in the middle, the lower one of two."""
    if not len(numbers):
        return 0.0
    order = np.argsort(numbers, kind="stable")
    reached = np.cumsum(rows[order])
    return float(numbers[order][np.searchsorted(reached, (reached[-1] + 1) // 2)])
