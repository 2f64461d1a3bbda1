"""Figure 4 of paper B: which appliances run, told from the released power of a house?"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.adversaries.load_monitoring import LoadMonitoring
from hartley.chart import Chart, Panel, Series
from hartley.datasets.catalogue import dataset
from hartley.datasets.redd import TOP_FIVE
from hartley.errors import TableError
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.policies.calibration import levels_for_bits
from hartley.policies.quantizer import UniformQuantizer

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.adversaries.load_monitoring import LoadFinding
    from hartley.papers.figure import Progress

DATA = "redd"
TOP = 10_000
"""The range of the power of a house, in watts; public."""
ON = 30
"""Above how many watts an appliance counts as on: some draw a few for ever."""
TRAINED = 0.25
"""A week of the four, as in the paper."""
FEW_BITS = 3


@dataclass(frozen=True)
class Numbers:
    """What load monitoring finds, by the bits of a reading."""

    found: dict[int, LoadFinding]
    top: int
    synthetic: bool

    @property
    def last(self) -> LoadFinding:
        """What it finds at the largest budget."""
        return self.found[max(self.found)]


def compute(
    data: str | Path = SYNTHETIC,
    *,
    progress: Progress | None = None,
    days: int = 28,
    budgets: tuple[int, ...] = tuple(range(13)),
) -> Numbers:
    """Attack the power of a house, released reading by reading in floor(2^bits) cells.

    Args:
        data: "synthetic", or where the house is.
        progress: told how much is done.
        days: how many synthetic ones there are; the first quarter is learned from.
        budgets: in bits, for each reading.
    """
    house = dataset(DATA, data=data, days=days)
    missing = [name for name in TOP_FIVE if name not in house.columns]
    if missing:
        raise TableError(
            f"The house has no appliance '{missing[0]}'", hint="take house 1, as the paper does"
        )
    home = LoadMonitoring(
        house.table, total="mains", columns=TOP_FIVE, train=TRAINED, states=2, on=ON
    )
    top = max(TOP, int(home.signals.total.max()) + 1)
    found = {}
    for done, bits in enumerate(budgets, 1):
        levels = levels_for_bits(Fraction(top), Fraction(top), bits)
        found[bits] = home.attack(UniformQuantizer(Fraction(0), Fraction(top), levels))
        if progress is not None:
            progress(done / len(budgets))
    return Numbers(found, top, house.synthetic)


def plot(numbers: Numbers) -> Chart:
    """Draw the f-score against the budget, beside chance, and by appliance what it gains."""
    bits = tuple(map(float, numbers.found))
    overall = [one.overall for one in numbers.found.values()]
    shown = Series(
        "released signal",
        bits,
        tuple(one.released.value for one in overall),
        low=tuple(one.released.low for one in overall),
        high=tuple(one.released.high for one in overall),
    )
    chance = Series(
        "chance, being on as often", bits, tuple(one.chance for one in overall), dash="dashed"
    )
    appliances = tuple(
        Series(
            score.name.rpartition("_")[0].replace("_", " "),
            bits,
            tuple(one.appliances[at].gain.value for one in numbers.found.values()),
        )
        for at, score in enumerate(numbers.last.appliances)
    )
    return Chart(
        "B/4: load monitoring of a house by combinatorial optimisation",
        (
            Panel(
                "budget ε (bits a reading)",
                "f-score of all appliances",
                (shown, chance),
                title="f-score from the released signal",
                marks=(("true signal", overall[-1].true.value),),
                from_zero=True,
            ),
            Panel(
                "budget ε (bits a reading)",
                "f-score beyond chance",
                appliances,
                title="By appliance, beyond chance (added)",
            ),
        ),
        note=f"⌊2^ε⌋ cells over 0 to {numbers.top / 1000:g} kW; intervals of 95 %.",
        synthetic=numbers.synthetic,
    )


def findings(numbers: Numbers) -> tuple[Claim, ...]:
    """Return what the figure is expected to show."""
    last = numbers.last.overall
    true = last.true
    few = [found.overall for bits, found in numbers.found.items() if bits <= FEW_BITS]
    claims = [
        Claim(
            f"From the true signal appliances are recognised with an f-score of {true.value:.2f}; "
            f"the largest budget comes within 0.05 of it ({last.released.value:.2f}).",
            holds=abs(last.released.value - true.value) <= 0.05 and last.gain.low > 0,
        ),
        Claim(
            "Without a bit nothing is told beyond chance.",
            holds=all(f.overall.gain.value == 0 for bits, f in numbers.found.items() if bits == 0),
        ),
        Claim(
            f"Up to {FEW_BITS} bits a reading, the signal gives at most 0.05 beyond chance, where "
            f"the true one gives {last.gain.value:.2f}.",
            holds=all(one.gain.value <= 0.05 for one in few) and last.gain.value > 0.1,
        ),
    ]
    values = [found.overall.released.value for found in numbers.found.values()]
    highest = max(values)
    claims.append(
        Claim(
            "The f-score alone misleads: it is no rising curve, and a signal that tells nothing "
            f"has {values[0]:.2f}, by chance alone.",
            holds=values != sorted(values) and 0 < values[0] <= highest,
        )
    )
    return tuple(claims)


FIGURE = Figure(
    paper="B",
    number=4,
    title="Load monitoring against the budget",
    shows=(
        "How well the five largest appliances of a house are recognised from its power, released "
        "minute by minute in cells. An f-score is to be read beside that of chance, which the "
        "paper does not show."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
    data=DATA,
)
