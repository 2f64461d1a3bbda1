"""Figure 4 of paper B: how well running appliances are recognised from a house's released power."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.attacks.load_monitoring import LoadMonitoring
from hartley.datasets.catalogue import dataset
from hartley.datasets.meters import TOP_FIVE
from hartley.errors import TableError
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.policies.quantizer import UniformQuantizer, levels_for_bits
from hartley.report import Chart, Panel, Series

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.attacks.finding import AttackEstimate
    from hartley.attacks.load_monitoring import ApplianceScore, LoadFinding
    from hartley.papers.figure import Progress

DATA = "redd"
TOP = 10_000
"""The range of the power of a house, in watts; public."""
ON = 30
"""An appliance counts as on above so many watts, since some always draw a few."""
TRAINED = 0.25
"""A week of the four, as in the paper."""
FEW_BITS = 3


@dataclass(frozen=True)
class B4Numbers:
    """The findings of load monitoring, by the bits of a reading."""

    by_bits: dict[int, LoadFinding]
    top: int
    synthetic: bool

    @property
    def last(self) -> LoadFinding:
        """The finding at the largest budget."""
        return self.by_bits[max(self.by_bits)]


def compute(
    data: str | Path = SYNTHETIC,
    *,
    progress: Progress | None = None,
    days: int = 28,
    budgets: tuple[int, ...] = tuple(range(13)),
) -> B4Numbers:
    """Attack the power of a house, released reading by reading in floor(2^bits) cells.

    Args:
        data: "synthetic", or where the house is.
        progress: called with the share of the work that is done.
        days: how many synthetic days there are; the first quarter is for training.
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
    by_bits = {}
    for done, bits in enumerate(budgets, 1):
        levels = levels_for_bits(Fraction(top), Fraction(top), bits)
        by_bits[bits] = home.attack(UniformQuantizer(Fraction(0), Fraction(top), levels))
        if progress is not None:
            progress(done / len(budgets))
    return B4Numbers(by_bits, top, house.synthetic)


def plot(numbers: B4Numbers) -> Chart:
    """Draw the f-score and that of chance against the budget, and the gain for each appliance."""
    budget = "budget ε (bits a reading)"
    overall = [finding.overall for finding in numbers.by_bits.values()]
    panels = [
        Panel(
            budget,
            "f-score of all appliances",
            (
                _line("nearest sum to the cell’s middle", numbers, [s.released for s in overall]),
                _line("trained cell by cell (added)", numbers, [s.trained for s in overall]),
                *(
                    Series(
                        label,
                        tuple(map(float, numbers.by_bits)),
                        tuple(chances),
                        dash="dashed",
                        tone=tone,
                    )
                    for tone, (label, chances) in enumerate(
                        (
                            ("chance for the middle", [s.chance for s in overall]),
                            ("chance for the trained", [s.trained_chance for s in overall]),
                        )
                    )
                ),
            ),
            title="All appliances together",
            marks=(("true signal", overall[-1].true.value),),
            from_zero=True,
        )
    ]
    for title, gain in (
        ("One by one: the cell’s middle", "gain"),
        ("One by one: trained cell by cell", "trained_gain"),
    ):
        lines = tuple(
            _line(
                shown_name(score),
                numbers,
                [getattr(finding.appliances[at], gain) for finding in numbers.by_bits.values()],
            )
            for at, score in enumerate(numbers.last.appliances)
        )
        panels.append(Panel(budget, "f-score beyond chance", lines, title=f"{title} (added)"))
    return Chart(
        "B/4: load monitoring of a house",
        tuple(panels),
        note=f"⌊2^ε⌋ cells over 0 to {numbers.top / 1000:g} kW; intervals of 95 %.",
        synthetic=numbers.synthetic,
        across=3,
    )


def _line(label: str, numbers: B4Numbers, scores: list[AttackEstimate]) -> Series:
    return Series(
        label,
        tuple(map(float, numbers.by_bits)),
        tuple(score.value for score in scores),
        low=tuple(score.low for score in scores),
        high=tuple(score.high for score in scores),
    )


def shown_name(score: ApplianceScore) -> str:
    """Return the name of an appliance without the number of its channel."""
    return score.name.rpartition("_")[0].replace("_", " ")


def findings(numbers: B4Numbers) -> tuple[Claim, ...]:
    """Return what the figure is expected to show, appliance by appliance."""
    last = numbers.last.overall
    true = last.true
    scores = [finding.overall.released.value for finding in numbers.by_bits.values()]
    return (
        Claim(
            f"From the true signal appliances are recognised with an f-score of {true.value:.2f}; "
            f"the largest budget comes within 0.05 of it ({last.released.value:.2f}).",
            holds=abs(last.released.value - true.value) <= 0.05 and last.gain.low > 0,
        ),
        Claim(
            "With zero bits, neither adversary recognises any appliance better than chance.",
            holds=all(
                abs(gain.value) < 1e-12
                for bits, finding in numbers.by_bits.items()
                if bits == 0
                for score in finding.appliances
                for gain in (score.gain, score.trained_gain)
            ),
        ),
        _few_bits(numbers),
        _trained(numbers),
        Claim(
            "The f-score alone misleads: it does not always rise with the budget, and a signal "
            f"that tells nothing has {scores[0]:.2f} by chance.",
            holds=scores != sorted(scores) and 0 < scores[0] <= max(scores),
        ),
    )


def _few_bits(numbers: B4Numbers) -> Claim:
    """Say how well a few bits show all appliances together, and each of them."""
    few = [finding for bits, finding in numbers.by_bits.items() if bits <= FEW_BITS]
    pooled = max(finding.overall.gain.value for finding in few)
    gains = {
        shown_name(score): (
            max(finding.appliances[at].best[2].value for finding in few),
            max(finding.appliances[at].best[2].low for finding in few),
            score.gain.value,
        )
        for at, score in enumerate(numbers.last.appliances)
    }
    ranked = sorted(gains, key=lambda name: -gains[name][0])
    listed = ", ".join(f"{name} {gains[name][0]:.2f}" for name in ranked)
    most, sure, whole = gains[ranked[0]]
    largest = numbers.last.overall.gain.value
    return Claim(
        f"Up to {FEW_BITS} bits a reading look harmless only when all appliances are pooled: the "
        f"cell’s middle then gives {pooled:.2f} beyond chance, of {largest:.2f} at the "
        f"largest budget. One by one, the better adversary gains {listed}.",
        holds=pooled < largest / 2 and sure > 0 and most > whole / 2,
    )


def _trained(numbers: B4Numbers) -> Claim:
    """Say where training cell by cell beats the cell's middle most."""
    pairs = [
        (score.trained_gain.value - score.gain.value, bits, score)
        for bits, finding in numbers.by_bits.items()
        for score in finding.appliances
    ]
    more, bits, score = max(pairs, key=lambda pair: pair[0])
    return Claim(
        "An adversary who knows what runs at each released value does better than one who takes "
        f"the cell’s middle, most at {bits} bits: {shown_name(score)} {score.trained.value:.2f} "
        f"instead of {score.released.value:.2f}.",
        holds=more > 0.1,
    )


FIGURE = Figure(
    paper="B",
    number=4,
    title="Load monitoring against the budget",
    shows=(
        "How well the five largest appliances of a house are recognised from its power, released "
        "minute by minute in cells: by the sum of powers nearest to the cell’s middle, as in the "
        "paper, and by an adversary trained cell by cell. Compare an f-score with that of chance, "
        "and look at each appliance; the paper shows neither."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
    data=DATA,
)
