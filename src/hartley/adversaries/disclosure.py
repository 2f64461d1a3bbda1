"""The findings of attacks on the classes of a k-anonymous table: counts and shares, no values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hartley.adversaries.finding import AttackEstimate
from hartley.chart import Chart, Panel, Series
from hartley.engines.tables.view import OF_COLUMN, left_out_sentence
from hartley.numerals import percent_up
from hartley.readable import ReadableResult
from hartley.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

Attack = Literal["homogeneity", "similarity", "skewness"]
ORDER: tuple[Attack, ...] = ("homogeneity", "similarity", "skewness")
"""From the attack that reveals most, the value itself, to the one that reveals least."""


@dataclass(frozen=True)
class Disclosure:
    """For how many people one attack learns one confidential column."""

    attack: Attack
    column: str
    learned: str
    """What is learned, in words that fit after 'learns'."""
    people: int
    classes: int
    """How many classes of equal keys the attack succeeds on."""
    smallest: int | None
    """The size of the smallest of them; None if it succeeds on none."""
    rows: int
    """How many people have a value in the column."""

    @property
    def sentence(self) -> str:
        """Say how far the attack gets."""
        name = self.attack.capitalize()
        if not self.people:
            return f"{name} attack on {self.column}: it fails, no class reveals {self.learned}."
        classes = counted(self.classes, "class")
        return (
            f"{name} attack on {self.column}: it learns {self.learned} for {self.people:,} of "
            f"{self.rows:,} people ({percent_up(self.people, self.rows)}), in {classes}, "
            f"the smallest of {self.smallest:,}."
        )


@dataclass(frozen=True)
class Guess:
    """How often the likeliest value of a column is right, with the keys and without."""

    column: str
    with_keys: Fraction
    without_keys: Fraction

    @property
    def sentence(self) -> str:
        """Say what the keys are worth to a guesser."""
        return (
            f"Guessing the most common {self.column} of a person's class is right for "
            f"{percent_up(self.with_keys)} of the people, and without the keys for "
            f"{percent_up(self.without_keys)}."
        )


@dataclass(frozen=True)
class TableFinding(ReadableResult):
    """What one or several attacks learn from the classes of a table; exact.

    No value of the table appears: only counts and shares.
    """

    table: str
    keys: tuple[str, ...]
    rows: int
    classes: int
    k: int
    """The size of the smallest class."""
    disclosures: tuple[Disclosure, ...]
    guesses: tuple[Guess, ...]
    left_out: Mapping[str, int]
    """By column, how many people are not counted because their value is missing."""
    notes: tuple[str, ...] = ()
    measured: ClassVar[str] = "share of people whose value is learned"

    @property
    def worst(self) -> Disclosure:
        """What the most revealing successful attack learns about the most people."""
        for attack in ORDER:
            disclosures = [
                disclosure for disclosure in self.disclosures if disclosure.attack == attack
            ]
            if any(disclosure.people for disclosure in disclosures):
                return max(disclosures, key=lambda disclosure: disclosure.people)
        return self.disclosures[0]

    @property
    def number(self) -> AttackEstimate:
        """The share of people whose value the most revealing attack learns; exact."""
        return AttackEstimate.exact(self.worst.people / self.worst.rows)

    @property
    def headline(self) -> str:
        """The result in one sentence, and one more for each column with missing values."""
        left_out = (
            left_out_sentence(rows, [name], of=OF_COLUMN) for name, rows in self.left_out.items()
        )
        return " ".join((self._summary, *left_out))

    @property
    def _summary(self) -> str:
        worst = self.worst
        head = f"{self.table} is {self.k:,}-anonymous over {', '.join(self.keys)}"
        if not worst.people:
            return f"{head}, and no attack on its classes succeeds."
        return (
            f"{head}, but an adversary who knows the keys still learns {worst.learned} for "
            f"{worst.people:,} of {worst.rows:,} people."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The details, one sentence each."""
        learned = (disclosure.sentence for disclosure in self.disclosures)
        return (*learned, *(guess.sentence for guess in self.guesses), *self.notes)

    def chart(self) -> Chart:
        """Return the share of people for each attack, and how often a guess is right."""
        attacks = [
            a for a in ORDER if any(disclosure.attack == a for disclosure in self.disclosures)
        ]
        learned = tuple(self._bars(attack) for attack in attacks)
        columns = tuple(guess.column for guess in self.guesses)
        guessed = (
            Series("with the keys", columns, self._shares("with_keys"), "bars"),
            Series("without", columns, self._shares("without_keys"), "bars", tone=5),
        )
        return Chart(
            f"Attacks on the classes of {self.table}",
            (
                Panel("", "share of people", learned, "Learned by the attack", from_zero=True),
                Panel("", "share of people", guessed, "Guessed right", from_zero=True),
            ),
        )

    def _bars(self, attack: Attack) -> Series:
        columns = tuple(dict.fromkeys(disclosure.column for disclosure in self.disclosures))
        shares = tuple(
            max(
                (
                    disclosure.people / disclosure.rows
                    for disclosure in self.disclosures
                    if (disclosure.attack, disclosure.column) == (attack, column)
                ),
                default=0.0,
            )
            for column in columns
        )
        return Series(attack, columns, shares, "bars", tone=ORDER.index(attack))

    def _shares(self, which: str) -> tuple[float, ...]:
        return tuple(float(getattr(guess, which)) for guess in self.guesses)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ready for JSON."""
        return {
            "format": 1,
            "headline": self.headline,
            "sentences": list(self.sentences),
            "number": self.number.to_dict(),
            "table": self.table,
            "keys": list(self.keys),
            "rows": self.rows,
            "classes": self.classes,
            "k": self.k,
            "rows_left_out": dict(self.left_out),
            "attacks": [vars(disclosure) for disclosure in self.disclosures],
            "guesses": [
                {
                    "column": guess.column,
                    "with_keys": float(guess.with_keys),
                    "without_keys": float(guess.without_keys),
                }
                for guess in self.guesses
            ],
        }


def join_findings(findings: Sequence[TableFinding]) -> TableFinding:
    """Return several attacks on one table as one finding, the most revealing attack first."""
    first = findings[0]
    disclosures = [disclosure for finding in findings for disclosure in finding.disclosures]
    return replace(
        first,
        disclosures=tuple(
            sorted(
                disclosures,
                key=lambda disclosure: (ORDER.index(disclosure.attack), -disclosure.people),
            )
        ),
        guesses=tuple(dict.fromkeys(guess for finding in findings for guess in finding.guesses)),
        left_out={name: n for finding in findings for name, n in finding.left_out.items()},
        notes=tuple(dict.fromkeys(note for finding in findings for note in finding.notes)),
    )
