"""The verdict: what a release makes certain about people, what nearly certain, and what to do."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.ranges.counting import Summary, distinct, numbered, sum_by, widened
from hartley.ranges.distribution import largest_ratio
from hartley.report import Tile
from hartley.text import (
    conjugate,
    count_of,
    exact_text,
    exactly,
    listed,
    number,
    share_text,
    times,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.engines.table import Table
    from hartley.policies.hierarchy import Level
    from hartley.ranges.counting import Pairs
    from hartley.schema.roles import Roles

    Codes = NDArray[np.int64]

Word = Literal["tells", "nearly tells", "rules out", "shifts", "nothing"]
CERTAINTIES = (Fraction(9, 10), Fraction(19, 20), Fraction(99, 100))
"""Shares of a class with the same secret from which on it is nearly certain."""
CERTAINTY = Fraction(19, 20)
MOST_PAIRS = 5_000_000
"""As many pairs of people and values are listed at once."""
ONE_ROW = "One row counts as one person; name the unit (--unit) if somebody has several."
MANY_VALUES = 20, 100_000
"""Numbers of which more are different, up to so many, are also judged within a distance."""


@dataclass(frozen=True)
class NearbyPeople:
    """People whose secret number is known within a distance: somewhere between v and v + width."""

    width: Fraction
    told: int
    """People all of whose class is there, but not all of the table."""
    known: Mapping[Fraction, int]
    """For shares: these, and people at least that share of whose class is there, and less of the
    table."""

    @classmethod
    def of_pairs(
        cls,
        pairs: Pairs,
        values: Sequence[Any],
        width: Fraction,
        shares: Iterable[Fraction],
        drawn: tuple[NDArray[Any], Codes] | None = None,
    ) -> NearbyPeople:
        """Count them, given the numbers of the secret in their order.

        Infinity and a missing number are within a distance of themselves alone. Of rows that were
        ``drawn`` the pairs say how likely they are; then the people of the secrets and of the
        classes are given.
        """
        size = pairs.sizes[0]
        usual = sum_by(pairs.secret, pairs.counts, size) if drawn is None else drawn[0]
        totals = np.append(0, np.cumsum(usual))
        people, reach = int(totals[-1]), _window_ends(values, width)
        inside = (totals[reach] - totals[:-1])[pairs.secret]
        counted = np.append(0, np.cumsum(pairs.counts))
        keys = pairs.released * size + pairs.secret
        held = counted[np.searchsorted(keys, pairs.released * size + reach[pairs.secret])]
        held, sizes = held - counted[:-1], np.diff(counted[pairs.offsets])
        of_class = sizes if drawn is None else drawn[1]
        held, inside, whole = (
            widened(numbers, people) for numbers in (held, inside, sizes[pairs.released])
        )

        def people_of(near: NDArray[np.bool_]) -> int:
            return int(of_class[np.logical_or.reduceat(near, pairs.offsets[:-1])].sum())

        told = (held == whole) & (inside < people)
        known = {
            c: people_of(
                told
                | (held * c.denominator >= c.numerator * whole)
                & (inside * c.denominator < c.numerator * people)
            )
            for c in shares
        }
        return cls(width, people_of(told), known)


def _window_ends(values: Sequence[Any], width: Fraction) -> Codes:
    """Return for each of some rising numbers how many are at most it plus a width, exactly."""
    exact = [
        value if math.isinf(value) else parse_number(value, name="the secret")
        for value in values
        if value is not None
    ]
    ends, end = [], 0
    for low in exact:
        high = low if math.isinf(low) else low + width
        while end < len(exact) and exact[end] <= high:
            end += 1
        ends.append(end)
    return np.array([*ends, *[len(values)] * (len(values) - len(exact))], np.int64)


@dataclass(frozen=True)
class Verdict:
    """What a release tells whoever knows the shares of the table about one secret, in people.

    A class is all people with the same released values. Whether something is certain is a question
    of which values occur in it; how likely it is, of how often they do. All numbers are exact.
    """

    released: tuple[str, ...]
    secret: tuple[str, ...]
    people: int
    groups: int
    """The classes."""
    values: int
    """The secrets that occur."""
    told: int
    """People whose secret is certain."""
    told_alone: int
    """Of these, people with whom nobody shares a class."""
    told_uncommon: int
    """Of these, people whose secret is not a commonest one of the table."""
    known: Mapping[Fraction, int]
    """For shares: people whose secret is certain, or held by at least that share of their class
    and by less of the table."""
    certainty: Fraction
    """The share of ``known`` that the sentence speaks of."""
    ruled_out: int
    """People for whom some secret of the table is impossible."""
    left: int
    """The fewest secrets that stay possible for somebody."""
    guess_right: Fraction
    """The share of people of whom the best guess from the released values is right. People with
    several rows count once in each of their classes, where the guess is right if it is a secret
    that they have there."""
    guess_right_before: Fraction
    """The same where one guess is made for all classes: never more."""
    largest_share: Fraction
    """The largest share of one secret in a class."""
    gain: Fraction
    """How many times as likely as in the table a class makes a secret, at most."""
    shift: Fraction
    """The largest share of a class that would have to change for it to be like the table."""
    secret_is_record: bool = False
    within: NearbyPeople | None = None
    """Who is known within a distance, of numbers of which many are different."""
    in_several: bool = False
    """Whether some people are in several classes."""
    left_out: int = 0
    """The rows without a secret, of which nothing else is said."""
    absent: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))
    """The least and the largest share of people without a secret in a class: looked at where
    nothing else tells anything."""
    apart: bool = False
    """Whether this is one of several verdicts on columns that were not judged together."""

    @classmethod
    def of_summary(
        cls,
        summary: Summary,
        released: Sequence[str],
        secret: Sequence[str],
        certainty: object = CERTAINTY,
        *,
        secret_is_record: bool = False,
    ) -> Verdict:
        """Return the verdict of a joint range in which one row counts as one person.

        Example:
            >>> from hartley import Relation
            >>> ward = [("flu", "A")] * 19 + [("hiv", "A"), ("hiv", "B")] + [("flu", "B")] * 9
            >>> verdict = Verdict.of_summary(Relation.from_pairs(ward).summary, ["ward"], ["ill"])
            >>> verdict.word, verdict.known[Fraction(19, 20)], verdict.largest_share
            ('nearly tells', 20, Fraction(19, 20))
        """
        people, left = summary.rows, summary.secret_sizes
        sizes = widened(summary.released_rows, people)
        most, of_most, raised, of_raised, above, usual = summary.likely
        commonest = int(summary.secret_rows.max())
        told = (left == 1) & (summary.secrets > 1)

        def known(share: Fraction) -> int:
            a, b = share.numerator, share.denominator
            return int(sizes[told | (most * b >= a * sizes) & (of_most * b < a * people)].sum())

        return cls(
            released=tuple(released),
            secret=tuple(secret),
            people=people,
            groups=summary.released,
            values=summary.secrets,
            told=int(sizes[told].sum()),
            told_alone=int(sizes[told & (sizes == 1)].sum()),
            told_uncommon=int(sizes[told & (of_most < commonest)].sum()),
            ruled_out=int(sizes[left < summary.secrets].sum()),
            left=int(left.min()),
            guess_right=Fraction(int(most.sum()), people),
            guess_right_before=Fraction(commonest, people),
            largest_share=largest_ratio(most, sizes),
            gain=largest_ratio(raised * people, of_raised * sizes),
            shift=largest_ratio(above * people - usual * sizes, sizes) / people,
            secret_is_record=secret_is_record,
            **_certainties(known, certainty),
        )

    @classmethod
    def of_records(
        cls, persons: Codes, classes: Codes, released: Sequence[str], certainty: object = CERTAINTY
    ) -> Verdict:
        """Return the verdict where the record is the secret, of people with several rows."""
        persons, classes = numbered(persons), numbered(classes)
        people, groups = int(persons.max()) + 1, int(classes.max()) + 1
        who, where = np.divmod(distinct(persons * groups + classes), groups)
        sizes, stays = np.bincount(where), np.bincount(who)
        alike = np.minimum.reduceat(sizes[where], np.cumsum(stays) - stays)
        found = int((alike == 1).sum())
        records = Summary.of_records(sizes)
        one = cls.of_summary(records, released, ["ROW"], certainty, secret_is_record=True)
        return replace(
            one,
            people=people,
            values=people,
            told=found,
            told_alone=found,
            known=dict.fromkeys(one.known, found),
            ruled_out=int((alike < people).sum()),
            guess_right_before=Fraction(int(stays.max()), who.size),
            gain=Fraction(people, one.left),
            shift=Fraction(people - one.left, people),
            in_several=who.size > people,
        )

    @classmethod
    def of_people(  # noqa: PLR0913, PLR0917 - three columns and what they are called
        cls,
        persons: Codes,
        classes: Codes,
        secrets: Codes,
        released: Sequence[str],
        secret: Sequence[str],
        certainty: object = CERTAINTY,
    ) -> Verdict:
        """Return the verdict where a person may have several rows, given the codes of the rows.

        A class counts its different people, and so does a secret in it. Somebody's secret is told
        where the others of a class cannot hold all rows of its commonest secret, so that one at
        least is theirs. Nobody is assumed to know which rows belong together.

        Example:
            >>> persons, classes, secrets = np.array([[1, 1, 1, 2], [0, 0, 0, 0], [0, 0, 1, 1]])
            >>> Verdict.of_people(persons, classes, secrets, ["ward"], ["ill"]).told
            1
        """
        persons, classes, secrets = map(numbered, (persons, classes, secrets))
        people, groups, values = (int(codes.max()) + 1 for codes in (persons, classes, secrets))
        # Cells, of a class and a secret, in order; the people of each cell, person by person; and
        # the stays of a person in a class, each with some of these.
        of_row = numbered(classes * values + secrets)
        rows = np.bincount(of_row)
        cell_class, cell_secret = np.empty((2, rows.size), np.int64)
        cell_class[of_row], cell_secret[of_row] = classes, secrets
        keys, times = np.unique(persons * rows.size + of_row, return_counts=True)
        holder, cell = np.divmod(keys, rows.size)
        held = np.bincount(cell)
        first = np.flatnonzero(np.diff(holder * groups + cell_class[cell], prepend=-1))
        who, where, stay_rows = (
            holder[first],
            cell_class[cell][first],
            np.add.reduceat(times, first),
        )
        sizes, stays = np.bincount(where), np.bincount(who)
        holds = distinct(holder * values + cell_secret[cell])
        totals = np.bincount(holds % values)
        starts = np.flatnonzero(np.diff(cell_class, prepend=-1))

        commonest_rows = np.maximum.reduceat(rows, starts)
        others = np.add.reduceat(rows, starts) - commonest_rows
        told = (stay_rows > others[where]) & (values > 1)
        rarest = np.where(rows == commonest_rows[cell_class], totals[cell_secret], people)
        uncommon = np.minimum.reduceat(rarest, starts) < int(totals.max())
        left = _values_left(where, stays, np.bincount(cell_class), cell_secret, starts)

        def count(counted: NDArray[np.bool_]) -> int:
            return int(np.count_nonzero(np.diff(who[counted], prepend=-1)))

        def known(share: Fraction) -> int:
            a, b = share.numerator, share.denominator
            near = (held * b >= a * sizes[cell_class]) & (totals[cell_secret] * b < a * people)
            return count(told | np.logical_or.reduceat(near, starts)[where])

        most = np.maximum.reduceat(held, starts)
        apart = np.abs(held * people - totals[cell_secret] * sizes[cell_class])
        absent = (int(totals.sum()) - np.add.reduceat(totals[cell_secret], starts)) * sizes
        return cls(
            released=tuple(released),
            secret=tuple(secret),
            people=people,
            groups=groups,
            values=values,
            told=count(told),
            told_alone=count(told & (sizes == 1)[where]),
            told_uncommon=count(told & uncommon[where]),
            ruled_out=int((left < values).sum()),
            left=int(left.min()),
            guess_right=Fraction(int(most.sum()), who.size),
            guess_right_before=Fraction(int(sum_by(cell_secret, held, values).max()), who.size),
            largest_share=largest_ratio(most, sizes),
            gain=largest_ratio(held * people, totals[cell_secret] * sizes[cell_class]),
            shift=largest_ratio(np.add.reduceat(apart, starts) + absent, sizes) / (2 * people),
            in_several=who.size > people,
            **_certainties(known, certainty),
        )

    # --- what it says -----------------------------------------------------------------------------

    @property
    def word(self) -> Word:
        """What the release does, the worst first."""
        if self.told:
            return "tells"
        if self.nearly_told:
            return "nearly tells"
        if self.ruled_out:
            return "rules out"
        shifts = self.shift or self.absent[0] < self.absent[1] or self.apart
        return "shifts" if shifts else "nothing"

    @property
    def exposed(self) -> tuple[int | Fraction, ...]:
        """What verdicts are compared by: the larger, the worse."""
        unevenly = self.absent[1] - self.absent[0]
        return self.told, self.nearly_told, self.ruled_out, self.shift, unevenly

    @property
    def nearly_told(self) -> int:
        """The people whose secret is nearly certain, or certain."""
        return self.known[self.certainty]

    @property
    def next(self) -> str:
        """What to do; empty where nothing has to be done."""
        released = _columns(self.released)
        match self.word:
            case "tells":
                return (
                    "Coarsen or drop a released column (hartley anonymize), or release bins "
                    "(--bins)."
                )
            case "nearly tells":
                return (
                    "More people in a group do not help here: merge groups until their shares are "
                    f"closer, or leave {released} out."
                )
            case "nothing":
                return ""
        return f"If this is too much, coarsen {released}; --sweep shows what each step buys."

    @property
    def sentence(self) -> str:
        """The verdict in a few sentences."""
        return " ".join(self.sentences)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict in sentences: the first is the headline."""
        together = (
            "The released columns have too many combinations of values to be judged together, "
            "which may tell more."
        )
        said = self._first, together * self.apart, self._nearby, self._second
        return tuple(filter(None, said))

    @property
    def _first(self) -> str:
        secret, known = _columns(self.secret), self.nearly_told
        certainty = f"{share_text(self.certainty)} certainty"
        sure = f"with at least {certainty}"
        surest = f"in the surest group {share_text(self.largest_share)} have the same"
        match self.word:
            case _ if self.secret_is_record:
                said = self._of_record
            case "tells":
                of_them = "" if self.told_alone == self.told else f"of {self.told_alone:,} of them "
                alone = f", {of_them}because nobody else has their values" * bool(self.told_alone)
                more = f", and of {known:,} it is known {sure}" * (known > self.told)
                told = _people(self.told, self.people)
                said = f"the {secret} of {told} is certain{alone}{more}."
            case "nearly tells":
                people = _people(known, self.people)
                said = (
                    f"nobody's {secret} is certain, but that of {people} is known {sure}: {surest} "
                    "value."
                )
            case "rules out":
                said = (
                    f"nobody's {secret} is known with {certainty}, but some value is "
                    f"ruled out for {_people(self.ruled_out, self.people)}: at worst "
                    f"{self.left:,} of {self.values:,} values stay possible."
                )
            case "shifts" if not self.shift and self.absent[0] == self.absent[1]:
                said = (
                    f"taken alone, every value of {secret} is as likely as in the whole table; "
                    "beside the other released columns it may not be."
                )
            case "shifts" if not self.shift:
                said = (
                    f"every value of {secret} is as likely as in the whole table, but it is "
                    f"missing in {count_of(self.left_out, 'row')}, which "
                    f"{conjugate(self.left_out, 'is')} left out: {share_text(self.absent[1])} of "
                    f"one group, {share_text(self.absent[0])} of another."
                )
            case "shifts":
                factor = times(self.gain, up=True)
                likely = f"one is up to {factor} as likely as in the whole table; "
                said = (
                    f"every value of {secret} stays possible for everybody, but not equally "
                    f"likely: {likely * (self.gain > 1)}{surest}."
                )
            case _:
                only = self.groups == 1
                groups = "its only group" if only else f"each of its {self.groups:,} groups"
                said = (
                    f"nothing follows about {secret}: in {groups} every value is as likely as in "
                    "the whole table."
                )
        return f"From {_columns(self.released)}, {said}"

    @property
    def _of_record(self) -> str:
        if self.told:
            verb = "is" if self.told == 1 or self.people == 1 else "are"
            people = _people(self.told, self.people)
            return f"{people} {verb} found for certain: nobody else has their values."
        if self.ruled_out:
            return (
                f"nobody is found for certain, but at worst {self.left:,} of {self.values:,} "
                "records stay possible."
            )
        return "nothing follows about which record is whose: all of them have the same values."

    @property
    def _nearby(self) -> str:
        if self.within is None or self.within.known[self.certainty] <= self.nearly_told:
            return ""
        known, told = self.within.known[self.certainty], self.within.told
        sure = f", of {told:,} of them for certain" if told else ""
        return (
            f"Within {exactly(self.within.width)}, it is known of {_people(known, self.people)} "
            f"with at least {share_text(self.certainty)} certainty{sure}."
        )

    @property
    def _second(self) -> str:
        if self.word == "nothing":
            return ""
        if self.secret_is_record and self.told:
            return ""
        if self.secret_is_record:
            return f"Somebody is found with a chance of up to 1/{self.left:,}."
        right, before = share_text(self.guess_right), share_text(self.guess_right_before)
        each = " in each of their groups" if self.in_several else ""
        return (
            f"A guess from {_columns(self.released)} is right for {right} of people{each}, without "
            f"it for {before}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values, ready for JSON; fractions as exact text."""
        return {
            "word": self.word,
            "people": self.people,
            "told": self.told,
            "told_alone": self.told_alone,
            "told_uncommon": self.told_uncommon,
            "known": _decimals(self.known),
            "ruled_out": self.ruled_out,
            "left": self.left,
            "values": self.values,
            **{
                name: str(getattr(self, name))
                for name in ("guess_right", "guess_right_before", "largest_share", "gain", "shift")
            },
            **(
                {}
                if self.within is None
                else {
                    "within": {
                        "width": exact_text(self.within.width),
                        "told": self.within.told,
                        "known": _decimals(self.within.known),
                    }
                }
            ),
            "sentence": self.sentence,
            "next": self.next,
        }


def told_rows(persons: Codes, classes: Codes, secrets: Codes) -> NDArray[np.bool_]:
    """Tell which rows are in a class where the secret of their person is certain."""
    keys, rows = np.unique(classes * (int(secrets.max()) + 1) + secrets, return_counts=True)
    starts = np.flatnonzero(np.diff(keys // (int(secrets.max()) + 1), prepend=-1))
    others = np.add.reduceat(rows, starts) - np.maximum.reduceat(rows, starts)
    stays = numbered(persons * (int(classes.max()) + 1) + classes)
    told: NDArray[np.bool_] = np.bincount(stays)[stays] > others[classes]
    return told & bool((secrets != secrets[0]).any())


def groups_of(
    roles: Roles | None, columns: Iterable[str], table: Table
) -> dict[str, Mapping[Any, object]]:
    """Return the groups that roles give the values of some columns."""
    from hartley.policies.hierarchy import read_hierarchy

    named = {} if roles is None else roles.columns
    return {
        name: read_hierarchy(path, name, table)
        for name in columns
        if name in named and (path := named[name].hierarchy) is not None
    }


def levels_of(
    column: str, values: Sequence[Any], groups: Mapping[Any, object], table: Table
) -> list[Level]:
    """Return the levels of a secret with groups, missing being a group of its own."""
    from hartley.policies.hierarchy import nested_levels

    path = next(iter(groups.values()), ())
    depth = len(path) if isinstance(path, (list, tuple)) else 1
    missing = {None: (None,) * depth} if None in values and None not in groups else {}
    return nested_levels(column, values, {**groups, **missing}, table)


def parse_width(within: object) -> Fraction:
    """Read the distance within which a number counts as known."""
    width = parse_number(within, name="the distance of within")
    if width <= 0:
        raise OptionError(
            f"A distance of {within} is not above zero", hint="write for example --within 5000"
        )
    return width


def _certainties(known: Callable[[Fraction], int], certainty: object) -> dict[str, Any]:
    """Return the people whose secret is known, for each share, and the share to speak of."""
    wanted = parse_number(certainty, name="the certainty")
    if not Fraction(1, 2) < wanted < 1:
        raise OptionError(
            f"A certainty of {certainty} is not between one half and one",
            hint="write a share between 0.5 and 1, such as 0.95",
        )
    # Products with counts of people, which are below 2^31, then fit into 63 bits.
    if wanted.denominator > 2**30:
        raise OptionError(
            f"A certainty of {certainty} has too many digits", hint="write for example 0.95"
        )
    counts = {share: known(share) for share in sorted({*CERTAINTIES, wanted})}
    # Few people reach a high certainty in a table whose commonest secret is nearly as common: it
    # is told all the same where a class goes beyond the table.
    spoken = wanted if counts[wanted] or not counts[CERTAINTIES[-1]] else CERTAINTIES[-1]
    return {"known": counts, "certainty": spoken}


def _values_left(
    where: Codes, stays: Codes, secrets: Codes, cell_secret: Codes, starts: Codes
) -> Codes:
    """Return how many secrets the classes of each person hold together.

    ``where`` lists the classes of each person, person by person, and ``stays`` how many they are;
    ``secrets`` how many secrets each class holds.
    """
    ends = np.cumsum(stays)
    left = np.maximum.reduceat(secrets[where], ends - stays)
    values = int(cell_secret.max()) + 1
    # All that has to be looked at: people in several classes, none of which holds all secrets.
    several = np.flatnonzero((stays > 1) & (left < values))
    widths = np.add.reduceat(secrets[where], ends - stays)[several]
    for part in np.split(several, np.flatnonzero(np.diff(np.cumsum(widths) // MOST_PAIRS)) + 1):
        theirs = where[_ranges((ends - stays)[part], stays[part])]
        long = secrets[theirs]
        person = np.repeat(np.repeat(part, stays[part]), long)
        keys = distinct(person * values + cell_secret[_ranges(starts[theirs], long)])
        left[part] = np.bincount(keys // values, minlength=left.size)[part]
    return left


def _ranges(first: Codes, lengths: Codes) -> Codes:
    """Return the places of ranges, one after the other."""
    before: Codes = np.cumsum(lengths) - lengths
    return np.repeat(first - before, lengths) + np.arange(int(lengths.sum()))


def _columns(names: Sequence[str]) -> str:
    """Name up to three columns, or count them."""
    if len(names) <= 3:
        return listed(names)
    return f"the {len(names)} columns {names[0]} to {names[-1]}"


def _people(some: int, people: int) -> str:
    if some == people:
        return "all people" if people != 1 else "the only person"
    return f"{some:,} of {count_of(people, 'person')}"


def _decimals(known: Mapping[Fraction, int]) -> dict[str, int]:
    """Write 0.9 as 0.90: the keys of JSON have two decimals at least."""
    return {number(share, round="nearest").ljust(4, "0"): people for share, people in known.items()}


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict that says most: of most people told, then nearly told."""
    return max(verdicts, key=lambda verdict: verdict.exposed)


def verdict_tiles(verdict: Verdict) -> tuple[Tile, ...]:
    """Return the cards of a verdict: who is told, who nearly, and what a guess gains."""
    people = f"of {count_of(verdict.people, 'person')}"
    nearly = f"{people} known with at least {share_text(verdict.certainty)} certainty"
    gains = verdict.word == "rules out" or verdict.gain > 2
    right, before = share_text(verdict.guess_right), share_text(verdict.guess_right_before)
    return (
        Tile(f"{verdict.told:,}", f"{people} told for certain", verdict.told > 0),
        Tile(f"{verdict.nearly_told:,}", nearly, verdict.nearly_told > 0),
        Tile(right, f"of guesses are right; {before} before", "amber" if gains else False),
    )
