"""Small published tables: what the tests of a check write, describe and read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def spec(*blocks: dict[str, Any], trees: tuple[Any, ...] = ()) -> dict[str, list[Any]]:
    """Describe several outputs."""
    return {"outputs": list(blocks), "trees": list(trees)}


def line(folder: Path, *values: object, name: str = "line.csv") -> Path:
    """Write cells a, b, c, ... and their total, which comes last."""
    *cells, total = values
    body = "".join(f"{chr(97 + place)},{value}\n" for place, value in enumerate(cells))
    path = folder / name
    path.write_text(f"g,n\n{body}Total,{total}\n")
    return path


def lines(path: Path, dim: str, **numbers: object) -> Path:
    """Write a number for every category of a column."""
    path.write_text("\n".join([f"{dim},n", *(f"{k},{n}" for k, n in numbers.items())]) + "\n")
    return path


def derived(report: Any) -> list[Any]:
    """Return the derived cells of every atom outside the condition, by their value."""
    part = report.statistics[0]
    joint, inference = part.joint, part.inference
    values = []
    for cell in joint.atoms.tolist():
        keys = dict(zip(joint.dims, joint.keys(cell), strict=True))
        if keys["selection"].startswith("not"):
            values.append(inference.range(cell))
    return values


def verdicts(report: Any) -> dict[str, Any]:
    """Return the verdict on every cell."""
    return {"".join(cell.keys.values()): cell.verdict for cell in report.cells}
