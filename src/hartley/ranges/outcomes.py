"""What a mechanism can release of every possible dataset: listed outcomes, by code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError, TableError
from hartley.kernels.pairs import component_labels, number_values
from hartley.ranges.classes import combine_codes, encode_column
from hartley.ranges.distribution import Channel
from hartley.ranges.joint_range import encode_list
from hartley.ranges.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.int64]

DENSE = 8
"""Up to so many possible pairs a listed outcome, pairs are marked in a table instead of sorted."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Possible datasets and the outputs that each can give, one listed outcome a row.

    A dataset has one coordinate a person, or several. Every coordinate and the outputs are
    numbered; equal codes are equal values.
    """

    names: tuple[Any, ...]
    """What the coordinates are called: column names, or their places from 0."""
    codes: tuple[Codes, ...]
    sizes: tuple[int, ...]
    """Of every coordinate a number above all its codes."""
    outputs: Codes
    output_size: int
    dataset: Callable[[int], tuple[Any, ...]]
    """The dataset of a row, as it was listed."""

    # --- where they come from ---------------------------------------------------------------

    @classmethod
    def read(cls, mechanism: object, joint: object = None) -> Outcomes:
        """List the outcomes of a mechanism, whatever it is given as."""
        if isinstance(mechanism, Relation):
            return cls._of_relation(mechanism, joint)
        if joint is None and isinstance(mechanism, Mapping):
            joint = list(mechanism)
        if joint is None:
            raise OptionError(
                "The possible datasets are missing",
                hint="list them as tuples, one number or value a person",
            )
        if isinstance(joint, np.ndarray):
            return cls._of_array(mechanism, joint)
        if isinstance(mechanism, str) or (
            isinstance(mechanism, (list, tuple)) and all(isinstance(m, str) for m in mechanism)
        ):
            return cls._of_table(mechanism, joint)
        return cls._of_datasets(mechanism, joint)

    @classmethod
    def _of_datasets(cls, mechanism: object, joint: object) -> Outcomes:
        datasets = _tuples(joint)
        possible = _possible(mechanism, datasets)
        try:
            listed = [
                (dataset, output)
                for dataset, outputs in zip(datasets, map(possible, datasets), strict=True)
                for output in outputs
            ]
            columns = zip(*(dataset for dataset, _ in listed), strict=True)
            coded = [encode_list(column, "data") for column in columns]
            outputs, values = encode_list([output for _, output in listed], "output")
        except TypeError:
            raise OptionError(
                "An output or a value of the datasets cannot be compared with others",
                hint="use numbers, text or tuples; several possible outputs are a set",
            ) from None
        return cls(
            tuple(range(len(coded))),
            tuple(codes for codes, _ in coded),
            tuple(len(of) for _, of in coded),
            outputs,
            len(values),
            lambda row: listed[row][0],
        )

    @classmethod
    def _of_relation(cls, relation: Relation, joint: object) -> Outcomes:
        if joint is not None:
            raise OptionError(
                "A relation lists its own datasets, so that no others can be given",
                hint="pass the relation alone",
            )
        pairs = relation.pairs()
        names: tuple[Any, ...] = relation.secret_names
        datasets = relation.secret_range
        if len(names) == 1 and all(isinstance(value, tuple) for value in datasets):
            datasets, names = _tuples(datasets), tuple(range(len(datasets[0])))
        elif len(names) == 1:
            datasets = [(value,) for value in datasets]
        coded = [encode_list(column, "data") for column in zip(*datasets, strict=True)]
        return cls(
            names,
            tuple(codes[pairs.secret] for codes, _ in coded),
            tuple(len(values) for _, values in coded),
            np.asarray(pairs.released, np.int64),
            pairs.sizes[1],
            lambda row: datasets[int(pairs.secret[row])],
        )

    @classmethod
    def _of_array(cls, mechanism: object, joint: NDArray[Any]) -> Outcomes:
        """Take one row a dataset and one column a person, and the outputs as another array."""
        if joint.ndim != 2 or not joint.size:
            raise OptionError(
                "The array of datasets does not have one row a dataset and one column a person",
                hint="pass an array of shape (datasets, people)",
            )
        if not isinstance(mechanism, np.ndarray):
            return cls._of_datasets(mechanism, map(tuple, joint.tolist()))
        outputs = mechanism.reshape(mechanism.shape[0], -1) if mechanism.ndim else mechanism
        if outputs.ndim != 2 or outputs.shape[0] != joint.shape[0]:
            raise OptionError(
                "There is not one output for every row of the array of datasets",
                hint="pass an array with as many rows",
            )
        coded = [_encode_array(joint[:, place]) for place in range(joint.shape[1])]
        codes, size = _join([_encode_array(column) for column in outputs.T], joint.shape[0])
        return cls(
            tuple(range(len(coded))),
            tuple(column for column, _ in coded),
            tuple(width for _, width in coded),
            codes,
            size,
            lambda row: tuple(joint[row].tolist()),
        )

    @classmethod
    def _of_table(cls, released: object, table: object) -> Outcomes:
        """Take columns of a table: the named ones are released, the others are people's data."""
        from hartley.tables.opening import open_table
        from hartley.tables.view import prepare, run

        opened = open_table(table)
        asked = [released] if isinstance(released, str) else list(released)  # type: ignore[call-overload]  # a list of names
        names = [name for name in opened.columns if name not in asked]
        if not names:
            raise TableError(
                "No column of the table is left for people's data",
                hint="name only the columns that are released",
            )
        view = prepare(opened, [*names, *asked], missing="value")
        arrow = run(opened, view.expression.to_pyarrow)
        coded = [(codes, len(values)) for codes, values in map(encode_column, arrow.columns)]
        outputs, size = _join(coded[len(names) :], arrow.num_rows)
        people = arrow.select(list(range(len(names))))
        return cls(
            tuple(names),
            tuple(codes for codes, _ in coded[: len(names)]),
            tuple(width for _, width in coded[: len(names)]),
            outputs,
            size,
            lambda row: tuple(people.slice(row, 1).to_pylist()[0].values()),
        )

    # --- what they say ------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """How many outcomes are listed."""
        return int(self.outputs.size)

    def most_outputs(self, people: Sequence[int]) -> tuple[int, int]:
        r"""Return how many outputs some coordinates can produce at most, and a row that shows it.

        .. math:: \max_{x_{-G}} |[Y | x_{-G}]|

        All other coordinates are as in that row. Cost of one sort of the rows, or linear where
        the possible pairs of others' data and outputs are few.
        """
        others, width = self._joined(place for place in self._places if place not in people)
        count, code = _most_beside(others, width, self.outputs, self.output_size)
        return count, int(np.flatnonzero(others == code)[0])

    def are_unrelated(self, groups: Iterable[Sequence[int]]) -> bool:
        """Tell whether every combination of what is possible for each group is possible."""
        combinations = 1
        for group in groups:
            combinations *= _count_distinct(*self._joined(group))
            if combinations > self.rows:
                return False  # more than there are listed datasets
        return combinations == _count_distinct(*self._joined(self._places))

    def most_classes(self, people: Sequence[int], known: Sequence[int]) -> tuple[int, int]:
        """Return how many classes the outputs tell apart, at most, and a row that shows it.

        The classes are those of the overlap (taxicab) partition of the data of ``people`` and the
        outputs, where the coordinates ``known`` are as in that row.
        """
        given, width = _dense(*self._joined(known))
        secret, secrets = _dense(*_join([(given, width), self._joined(people)], self.rows))
        shown = [(given, width), (self.outputs, self.output_size)]
        released, outputs = _dense(*_join(shown, self.rows))
        labels = component_labels(secret, released, (secrets, outputs))
        # Values that are known beside different data are never joined: a class has one of them.
        of_class = np.zeros(int(labels.max()) + 1, np.int64)
        of_class[labels[secret]] = given
        counts = np.bincount(of_class)
        best = int(counts.argmax())
        return int(counts[best]), int(np.flatnonzero(given == best)[0])

    @property
    def _places(self) -> range:
        return range(len(self.codes))

    def _joined(self, places: Iterable[int]) -> tuple[Codes, int]:
        return _join([(self.codes[place], self.sizes[place]) for place in places], self.rows)


def _tuples(joint: object) -> list[tuple[Any, ...]]:
    """Read datasets, all of one length."""
    if isinstance(joint, (str, Mapping)) or hasattr(joint, "columns"):
        raise OptionError(
            "The outputs of a table of datasets are not named",
            hint="pass the name of the column that holds them, or an array of them beside an array",
        )
    try:
        datasets = [_tuple(dataset) for dataset in joint]  # type: ignore[attr-defined]  # refused below
    except TypeError:
        raise OptionError(
            "The possible datasets are not a list of tuples",
            hint="write one value a person, and (value,) where there is one person",
        ) from None
    if not datasets or not datasets[0] or len({len(dataset) for dataset in datasets}) > 1:
        raise OptionError(
            "The possible datasets are none, empty or not all of one length",
            hint="list at least one; each has one value a person",
        )
    return datasets


def _tuple(dataset: Any) -> tuple[Any, ...]:  # noqa: ANN401 - refused where it has no parts
    if isinstance(dataset, str):
        raise TypeError  # a text is one value, not one a letter
    return tuple(dataset)


def _possible(
    mechanism: object, datasets: Sequence[tuple[Any, ...]]
) -> Callable[[tuple[Any, ...]], Iterable[Any]]:
    """Return the function from a dataset to the outputs that it can give."""
    if isinstance(mechanism, Channel):
        if mechanism.matrix.shape[0] != len(datasets):
            raise OptionError(
                "The channel does not have one row for every possible dataset",
                hint="list the datasets in the order of its rows",
            )
        rows = iter(mechanism.matrix)
        return lambda _: np.flatnonzero(next(rows)).tolist()
    if isinstance(mechanism, Mapping):
        if any(dataset not in mechanism for dataset in datasets):
            raise OptionError(
                "The channel says nothing about one of the possible datasets",
                hint="give an output, or a set of outputs, for every one of them",
            )
        return lambda dataset: _outputs(mechanism[dataset])
    if callable(mechanism):
        return lambda dataset: _outputs(mechanism(dataset))
    raise OptionError(
        f"A {type(mechanism).__name__} is not a mechanism",
        hint="pass a function of a dataset, a mapping from datasets to outputs, or an array",
    )


def _outputs(output: object) -> Iterable[Any]:
    """Return the possible outputs: of a set its members, of a distribution those with weight."""
    if isinstance(output, Mapping):
        if any(not weight >= 0 for weight in output.values()):
            raise OptionError(
                "The probability of an output is negative or not a number",
                hint="give 0 or more for every output",
            )
        output = {value for value, weight in output.items() if weight > 0}
    if not isinstance(output, (set, frozenset)):
        return (output,)
    if not output:
        raise OptionError(
            "A possible dataset has no possible output", hint="leave out datasets that cannot be"
        )
    return output


def _encode_array(column: NDArray[Any]) -> tuple[Codes, int]:
    """Number the values of an array; whole numbers are counted from the least one."""
    if column.dtype == object:
        codes, values = encode_list(column.tolist(), "data")
        return codes, len(values)
    if column.dtype.kind in "bi":
        low = int(column.min())
        width = int(column.max()) - low + 1
        if width <= DENSE * column.size:
            return column.astype(np.int64) - low, width
    numbered = number_values(column)
    if numbered is not None:
        return numbered[0], int(numbered[1].size)
    distinct, codes = np.unique(column, return_inverse=True)
    return codes.reshape(-1).astype(np.int64, copy=False), int(distinct.size)


def _join(columns: Sequence[tuple[Codes, int]], rows: int) -> tuple[Codes, int]:
    """Number combinations of codes; those of no columns are all one."""
    if not columns:
        return np.zeros(rows, np.int64), 1
    return combine_codes([codes for codes, _ in columns], [width for _, width in columns])


def _dense(codes: Codes, width: int) -> tuple[Codes, int]:
    """Number codes anew so that every number below the new width occurs."""
    if width <= DENSE * codes.size:
        present = np.zeros(width, np.bool_)
        present[codes] = True
        return (np.cumsum(present) - 1)[codes], int(np.count_nonzero(present))
    distinct, numbered = np.unique(codes, return_inverse=True)
    return numbered.reshape(-1).astype(np.int64, copy=False), int(distinct.size)


def _count_distinct(codes: Codes, width: int) -> int:
    if width <= DENSE * codes.size:
        present = np.zeros(width, np.bool_)
        present[codes] = True
        return int(np.count_nonzero(present))
    ordered = np.sort(codes)
    return 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))


def _most_beside(keys: Codes, width: int, outputs: Codes, output_size: int) -> tuple[int, int]:
    """Return the most distinct outputs beside one key, and that key."""
    if width * output_size <= DENSE * keys.size:
        seen = np.zeros(width * output_size, np.bool_)
        seen[keys * output_size + outputs] = True
        counts = np.count_nonzero(seen.reshape(width, output_size), axis=1)
        best = int(counts.argmax())
        return int(counts[best]), best
    shift = max(output_size - 1, 1).bit_length()
    if (width - 1).bit_length() + shift > 63:
        numbered, width = _dense(keys, width)
        count, code = _most_beside(numbered, width, outputs, output_size)
        return count, int(keys[np.flatnonzero(numbered == code)[0]])
    # One sort brings equal pairs together, and all pairs of one key.
    packed = np.sort(keys << shift | outputs)
    pairs = packed[np.concatenate(([True], packed[1:] != packed[:-1]))]
    owners = pairs >> shift
    starts = np.flatnonzero(np.concatenate(([True], owners[1:] != owners[:-1], [True])))
    counts = np.diff(starts)
    best = int(counts.argmax())
    return int(counts[best]), int(owners[starts[best]])
