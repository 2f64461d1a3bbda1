"""HOW TO RELEASE: policies, and how to find the best one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "categories": ("CategoryMerging", "MergedColumn"),
        "column": ("ColumnPolicy", "KeptColumn"),
        "distortion.curve": ("TradeoffCurve", "TradeoffResult"),
        "gaussian.bound": (
            "GaussianBound",
            "WaterFilling",
            "water_filling_bound",
            "mutual_information_bound",
        ),
        "gaussian.rule": ("GaussianRule",),
        "hierarchy": ("read_hierarchy",),
        "hypotheses.hiding_columns": ("LineColumn", "MeetColumn"),
        "hypotheses.hypothesis": ("LatticeColumn",),
        "hypotheses.lines": (
            "LineTable",
            "best_line",
            "best_lines",
            "rank_line",
            "ComparedPolicy",
            "compare_policies",
        ),
        "hypotheses.open_records": (
            "ContinuousMeetPolicy",
            "OpenRecords",
            "count_open",
            "coverable",
            "most_pairs",
        ),
        "hypotheses.tables": ("BoxTable", "best_box", "TablePolicy"),
        "kinds": ("read_column", "register"),
        "quantized_column": ("Allocation", "CutColumn", "QuantizedColumn", "allocate_bits"),
        "random.estimates": ("FrequencyEstimate", "estimable", "LeastLeaking", "least_leaking"),
        "random.pram": ("PramLeakage", "pram_leakage"),
        "random.reconstruction": ("ReconstructedRelease", "reconstruct"),
        "vector": ("CellBounds", "cells_needed"),
    },
)

if TYPE_CHECKING:
    from hartley.policies.categories import (
        CategoryMerging as CategoryMerging,
        MergedColumn as MergedColumn,
    )
    from hartley.policies.column import ColumnPolicy as ColumnPolicy, KeptColumn as KeptColumn
    from hartley.policies.distortion.curve import (
        TradeoffCurve as TradeoffCurve,
        TradeoffResult as TradeoffResult,
    )
    from hartley.policies.gaussian.bound import (
        GaussianBound as GaussianBound,
        WaterFilling as WaterFilling,
        mutual_information_bound as mutual_information_bound,
        water_filling_bound as water_filling_bound,
    )
    from hartley.policies.gaussian.rule import GaussianRule as GaussianRule
    from hartley.policies.hierarchy import read_hierarchy as read_hierarchy
    from hartley.policies.hypotheses.hiding_columns import (
        LineColumn as LineColumn,
        MeetColumn as MeetColumn,
    )
    from hartley.policies.hypotheses.hypothesis import LatticeColumn as LatticeColumn
    from hartley.policies.hypotheses.lines import (
        ComparedPolicy as ComparedPolicy,
        LineTable as LineTable,
        best_line as best_line,
        best_lines as best_lines,
        compare_policies as compare_policies,
        rank_line as rank_line,
    )
    from hartley.policies.hypotheses.open_records import (
        ContinuousMeetPolicy as ContinuousMeetPolicy,
        OpenRecords as OpenRecords,
        count_open as count_open,
        coverable as coverable,
        most_pairs as most_pairs,
    )
    from hartley.policies.hypotheses.tables import (
        BoxTable as BoxTable,
        TablePolicy as TablePolicy,
        best_box as best_box,
    )
    from hartley.policies.kinds import read_column as read_column, register as register
    from hartley.policies.quantized_column import (
        Allocation as Allocation,
        CutColumn as CutColumn,
        QuantizedColumn as QuantizedColumn,
        allocate_bits as allocate_bits,
    )
    from hartley.policies.random.estimates import (
        FrequencyEstimate as FrequencyEstimate,
        LeastLeaking as LeastLeaking,
        estimable as estimable,
        least_leaking as least_leaking,
    )
    from hartley.policies.random.pram import (
        PramLeakage as PramLeakage,
        pram_leakage as pram_leakage,
    )
    from hartley.policies.random.reconstruction import (
        ReconstructedRelease as ReconstructedRelease,
        reconstruct as reconstruct,
    )
    from hartley.policies.vector import CellBounds as CellBounds, cells_needed as cells_needed
