"""Noiseless privacy of any finite mechanism: how many outputs one person can produce."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

from hartley.errors import OptionError
from hartley.exact import bits_at_least
from hartley.ranges.outcomes import Outcomes
from hartley.text import bits_up, count_of, listed, plural

if TYPE_CHECKING:
    from collections.abc import Iterable

    Person = int | str | tuple[int | str, ...]

MOST_COORDINATES = 12
"""Of so many coordinates every subset that somebody may know is tried."""


@dataclass(frozen=True)
class LearnedByAnyone:
    """The most that anyone learns about a person, whichever of the other data they know."""

    person: Person
    classes: int
    """How many sets of values of the person the outputs tell apart with certainty."""
    known: tuple[int | str, ...]
    """The coordinates that somebody who learns so much knows."""
    values: tuple[Any, ...]
    """What they are then."""

    @property
    def bits(self) -> float:
        """The maximin information about the person, in bits; never below the truth."""
        return bits_at_least(self.classes)

    def __str__(self) -> str:
        knows = f"the data of {_called(self.known)}" if self.known else "none of the other data"
        return (
            f"Somebody who knows {knows} can tell {count_of(self.classes, 'set')} of values of "
            f"{_called(self.person)} apart, and nobody can tell more: {bits_up(self.bits)}."
        )


@dataclass(frozen=True)
class NoiselessPrivacy:
    """How many outputs one person can produce while everybody else's data stays as it is."""

    outputs: int
    """The most, N: over all people and all data of the others."""
    person: Person
    """The coordinate of a person who can produce so many; a tuple where people count together."""
    others: tuple[Any, ...]
    """Data of everybody else beside which they can, in the order of the coordinates."""
    unrelated: bool
    """Whether what is possible for one person does not depend on the others' data."""
    by_person: tuple[tuple[Person, int], ...]
    """How many outputs each person can produce, at most."""
    outcomes: Outcomes = field(repr=False, compare=False)
    """What was counted."""

    @property
    def bits(self) -> float:
        """The privacy budget that is kept, log2 N; never below the truth."""
        return bits_at_least(self.outputs)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What holds to somebody who knows everybody else's data, and what holds without that."""
        together = any(isinstance(person, tuple) for person, _ in self.by_person)
        as_one = " People who are listed together count as one person." if together else ""
        bits = bits_up(self.bits)
        given = (
            f"Given everybody else's data, the output is one of at most "
            f"{count_of(self.outputs, 'value')} whatever the data of one person is: {bits} about "
            f"anybody.{as_one}"
        )
        leakage = (
            "To somebody who knows everybody else's data, I⋆(Xᵢ;Y) ≤ L₀ˢ(Xᵢ;Y) ≤ L₀(Y;Xᵢ) ≤ "
            f"{bits}. This does not bound L₀(Xᵢ;Y): a rare output may narrow the data of a person "
            "further."
        )
        random = (
            "Were the data random, the maximal leakage about one person given everybody else's "
            f"data would be at most {bits}, whatever the law"
        )
        if self.unrelated:
            less = (
                "What is possible for one person does not depend on the others' data. So I⋆(Xᵢ;Y) "
                f"is at most {bits} to somebody who knows less as well; L₀ˢ and L₀ can be larger."
            )
            without = "without that knowledge too where the person is independent of the others"
        else:
            less = (
                "People are related: what is possible for one person depends on the others' data. "
                "Without everybody else's data nothing follows from this number, and somebody who "
                "knows less may learn more. Count related people together as one person."
            )
            without = "without that knowledge it may be more"
        return given, leakage, less, f"{random}; {without}."

    def learned_by_anyone(self, person: Person) -> LearnedByAnyone:
        r"""Return the most that anyone learns about a person, whichever other data they know.

        .. math:: \max_{S \not\ni i} \max_{x_S} |[X_i; Y | x_S]_\star|

        The number of classes of the overlap (taxicab) partition of the person's data and the
        outputs, given the data of a set S of other coordinates: the worst S of all, also the
        empty one. It never exceeds ``outputs`` where people are unrelated (Farokhi 2019, Noiseless
        Privacy, Theorem 1, whose assumption this is). Exact. Grows like 2^(n-1) times the number
        of listed outcomes; up to 12 coordinates.

        Args:
            person: a coordinate, by its place or its column, or a tuple of several.

        Example:
            >>> twins = noiseless_privacy(lambda x: x[0], [(v, v) for v in range(4)])
            >>> twins.outputs, twins.unrelated, twins.learned_by_anyone(0).classes
            (1, False, 4)
        """
        outcomes = self.outcomes
        names = outcomes.names
        if len(names) > MOST_COORDINATES:
            raise OptionError(
                f"What anyone learns is computed of up to {MOST_COORDINATES} coordinates, and here "
                f"are {len(names)}",
                hint="ask about fewer people at a time",
            )
        group = _group(person, names)
        rest = [place for place in range(len(names)) if place not in group]
        best: tuple[int, int, tuple[int, ...]] = (0, 0, ())
        for size in range(len(rest) + 1):
            for known in combinations(rest, size):
                classes, row = outcomes.most_classes(group, known)
                if classes > best[0]:
                    best = (classes, row, known)
        classes, row, known = best
        dataset = outcomes.dataset(row)
        return LearnedByAnyone(
            _person(group, names),
            classes,
            tuple(names[place] for place in known),
            tuple(dataset[place] for place in known),
        )

    def __str__(self) -> str:
        return " ".join(self.sentences)


def noiseless_privacy(
    mechanism: object, joint: object = None, people: Iterable[Person] | None = None
) -> NoiselessPrivacy:
    r"""Return how many outputs one person can produce, of any finite mechanism and joint range.

    .. math:: N = \max_i \max_{x_{-i}} |[Y | x_{-i}]|, \qquad \epsilon = \log_2 N

    Farokhi 2019 (Noiseless Privacy), Definition 1, over the datasets that are possible, which need
    not be all combinations. It holds given everybody else's data; about one person without that
    knowledge it needs unrelated people, and the result says whether they are. Exact. Costs about
    one sort of the listed outcomes a person; arrays and tables of ten million rows take seconds.

    Args:
        mechanism: a function of a dataset; a mapping from datasets to an output, to the set of
            possible outputs or to their probabilities; a ``Channel`` with a row a dataset; a
            relation of datasets and outputs; or, beside an array or a table of datasets, the array
            of their outputs or the names of the columns that hold them. A function may return a
            set of possible outputs too.
        joint: the possible datasets: tuples with one value a person, an array with one row a
            dataset, or a table with one column a person and the outputs. A mapping and a relation
            list their own.
        people: which coordinates, by place or column, belong to one person; people who are
            related are one tuple. By default every coordinate is a person.

    Example:
        >>> from itertools import product
        >>> majority = noiseless_privacy(lambda x: sum(x) >= 3, product((0, 1), repeat=5))
        >>> majority.outputs, majority.bits, majority.unrelated
        (2, 1.0, True)
        >>> twins = [(v, v) for v in range(4)]
        >>> noiseless_privacy(lambda x: x[0], twins, people=[(0, 1)]).outputs
        4
    """
    outcomes = Outcomes.read(mechanism, joint)
    groups = _groups(people, outcomes.names)
    counts = [outcomes.most_outputs(group) for group in groups]
    most = max(range(len(groups)), key=lambda place: counts[place][0])
    outputs, row = counts[most]
    dataset = outcomes.dataset(row)
    return NoiselessPrivacy(
        outputs=outputs,
        person=_person(groups[most], outcomes.names),
        others=tuple(value for place, value in enumerate(dataset) if place not in groups[most]),
        unrelated=outcomes.are_unrelated(groups),
        by_person=tuple(
            (_person(group, outcomes.names), count)
            for group, (count, _) in zip(groups, counts, strict=True)
        ),
        outcomes=outcomes,
    )


def _groups(people: Iterable[Person] | None, names: tuple[int | str, ...]) -> list[tuple[int, ...]]:
    """Return the coordinates of every person, each coordinate in one of them."""
    if people is None:
        return [(place,) for place in range(len(names))]
    if isinstance(people, str):
        raise OptionError("The people are not a list", hint="write people=[(0, 1), 2]")
    groups = [_group(person, names) for person in people]
    belong = [place for group in groups for place in group]
    doubled = {place for place in belong if belong.count(place) > 1}
    idle = [place for place in range(len(names)) if place not in belong]
    if doubled or idle:
        place, problem = (min(doubled), "two people") if doubled else (idle[0], "nobody")
        raise OptionError(
            f"Coordinate {names[place]} belongs to {problem}",
            hint="list every coordinate once: people=[(0, 1), 2]",
        )
    return groups


def _group(person: Person, names: tuple[int | str, ...]) -> tuple[int, ...]:
    """Return the places of the coordinates of one person."""
    asked = tuple(person) if isinstance(person, (tuple, list)) else (person,)
    places = {name: place for place, name in enumerate(names)}
    for name in asked:
        if isinstance(name, bool) or name not in places:
            raise OptionError(
                f"There is no coordinate {name!r}", hint=f"choose from {', '.join(map(str, names))}"
            )
    if not asked or len(set(asked)) < len(asked):
        raise OptionError(
            "A person has no coordinate, or one twice", hint="write a coordinate, or (0, 1)"
        )
    return tuple(places[name] for name in asked)


def _person(group: tuple[int, ...], names: tuple[int | str, ...]) -> Person:
    return names[group[0]] if len(group) == 1 else tuple(names[place] for place in group)


def _called(person: Person) -> str:
    places = person if isinstance(person, tuple) else (person,)
    return f"{plural(len(places), 'coordinate')} {listed(places)}"
