"""Values that are listed one by one: the categories of a column."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CategoryList:
    """The values that a column can have, and whether it can have others too.

    Example:
        >>> CategoryList(("nurse", "smith"), complete=False).other()
        'other'
        >>> CategoryList((3, 7), complete=False).other(), CategoryList(("F", "M")).other()
        (8, None)
    """

    values: tuple[object, ...]
    complete: bool = True
    """Whether no other value is possible."""

    def other(self) -> object | None:
        """Return a value that stands for all that are not listed; None where there are none."""
        if self.complete:
            return None
        if all(isinstance(value, bool) for value in self.values):
            rest = [value for value in (False, True) if value not in self.values]
            return rest[0] if rest else None
        numbers = [value for value in self.values if isinstance(value, int)]
        if numbers:
            return max(numbers) + 1
        word = "other"
        while word in self.values:
            word += " "
        return word
