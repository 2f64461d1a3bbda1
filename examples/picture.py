"""Draw the picture of the README: python examples/picture.py docs/pictures/alone.svg."""

# ruff: noqa: INP001 - a script

import sys

import matplotlib as mpl
import pyarrow as pa
import pyarrow.compute as pc

import hartley
from hartley.attacks.uniqueness import Uniqueness
from hartley.report import Chart, Panel, Series
from hartley.reports.draw import STYLE, plot_chart

ADDED = ("sex", "region", "job", "height")


def alone(people: pa.Table) -> tuple[float, ...]:
    """Return how many people share their values with nobody, as ever more columns are released."""
    shares = (
        Uniqueness(people, ["age", *ADDED[: number + 1]]).attack().number.value
        for number in range(len(ADDED))
    )
    return tuple(round(share * people.num_rows) for share in shares)


def draw() -> Chart:
    """Return the picture, with ages as they are and in steps of ten years."""
    people = hartley.people()
    place = people.column_names.index("age")
    tens = people.set_column(place, "age", pc.floor(pc.divide(people["age"], 10)))
    names = ("age and sex", *(f"and {column}" for column in ADDED[1:]))
    bars = tuple(
        Series(label, names, alone(table), kind="bars")
        for label, table in (("age in years", people), ("age in steps of ten", tens))
    )
    return Chart(
        f"Who is alone? {people.num_rows:,} people",
        (Panel("released", "people alone with their values", bars, from_zero=True),),
        synthetic=True,
    )


if __name__ == "__main__":
    figure = plot_chart(draw())
    with mpl.rc_context(STYLE):  # white, since a page may be dark; the same bytes every time
        figure.savefig(sys.argv[1], facecolor="white", metadata={"Date": None})
