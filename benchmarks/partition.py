"""The overlap partition: the product against graph libraries and against dit.

All are given the same edges in the same order. A peer is handed the edges as it likes them best,
outside the timing; building its graph and finding the components is timed.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from environments import PeerMissing, peer_python
from measure import Job, Work, measure, measure_together, ratio, serve, task
from results import Row, Settings, Topic, raw
from tables import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from measure import Measurement, Rounds

NAME = "overlap partition"
EDGES, QUICK_EDGES = 10**6, 200_000
SYMBOLS, QUICK_SYMBOLS, CLASSES = 16, 8, 4
LEAST_TIMES = 500
FROM_TABLE, KERNEL = "from an Arrow table", "from integer arrays"
COMMON = "maximin information of listed pairs"
GRAPH_PEERS = ("scipy", "networkx", "rustworkx")
DIT = "dit, Gács-Körner common information"
CALLS = 21
"""What takes the product milliseconds is the median of so many calls in one process."""


# --- jobs in a child process ------------------------------------------------------------------


def _edges_path(edges: int) -> Path:
    return FOLDER / f"edges-{edges}.npy"


def write_edges(edges: int) -> Job:
    """Write distinct random edges between half as many secrets and as many released values.

    There are enough for one large class, and few enough to leave thousands of small ones.
    """
    import numpy as np

    def run() -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(2013)
        keys = np.unique(random.integers(0, edges * edges // 2, edges * 11 // 10))
        keys = random.permutation(keys)[:edges]
        np.save(_edges_path(edges), np.stack([keys % (edges // 2), keys // (edges // 2)]))

    return Job(run)


def _load(edges: int) -> Any:  # noqa: ANN401 - two NumPy arrays, imported on use
    import numpy as np

    secret, released = np.load(_edges_path(edges))
    return secret, released


def from_table(edges: int) -> Job:
    """Find the partition of a table of two columns, as a user would."""
    import pyarrow as pa

    import hartley

    secret, released = _load(edges)
    table = pa.table({"x": secret, "y": released})

    def run() -> Any:  # noqa: ANN401 - a partition, imported on use
        return hartley.ranges.overlap_partition(
            hartley.Relation.from_table(table, secret="x", released="y")
        )

    run()

    def describe(found: Any) -> dict[str, Any]:  # noqa: ANN401 - likewise
        import numpy as np

        labels = np.full(edges // 2, -1)
        labels[np.array(found.relation.secret_range)] = found.secret_labels
        return _describe(labels, secret)

    return Job(run, describe)


def from_arrays(edges: int) -> Job:
    """Find the classes of integer codes in no order: the kernel alone, as ``Pairs`` calls it."""
    from hartley.kernels.pairs import component_labels

    secret, released = _load(edges)
    sizes = edges // 2, edges
    component_labels(secret, released, sizes)
    return Job(
        lambda: component_labels(secret, released, sizes), lambda labels: _describe(labels, secret)
    )


def with_scipy(edges: int) -> Job:
    """Find the components with scipy's compressed graphs."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    secret, released = _load(edges)
    nodes, ones = edges + edges // 2, np.ones(edges, np.int8)
    targets = released + edges // 2

    def run() -> Any:  # noqa: ANN401 - a NumPy array, imported on use
        graph = coo_array((ones, (secret, targets)), shape=(nodes, nodes))
        return connected_components(graph, directed=False)[1]

    return Job(run, lambda labels: _describe(labels[: edges // 2], secret))


def with_networkx(edges: int) -> Job:
    """Find the components with networkx."""
    import networkx as nx

    secret, released = _load(edges)
    listed = list(zip(secret.tolist(), (released + edges // 2).tolist(), strict=True))
    return Job(
        lambda: list(nx.connected_components(nx.Graph(listed))),
        lambda groups: _describe_groups(groups, edges, secret),
    )


def with_rustworkx(edges: int) -> Job:
    """Find the components with rustworkx."""
    import rustworkx as rx

    secret, released = _load(edges)
    listed = list(zip(secret.tolist(), (released + edges // 2).tolist(), strict=True))

    def run() -> list[set[int]]:
        graph = rx.PyGraph()
        graph.extend_from_edge_list(listed)
        return rx.connected_components(graph)

    return Job(run, lambda groups: _describe_groups(groups, edges, secret))


def _describe_groups(groups: Iterable[set[int]], edges: int, secret: Any) -> dict[str, Any]:  # noqa: ANN401 - a NumPy array
    import numpy as np

    labels = np.full(edges + edges // 2, -1)
    for number, group in enumerate(groups):
        labels[list(group)] = number
    return _describe(labels[: edges // 2], secret)


def _describe(labels: Any, secret: Any) -> dict[str, Any]:  # noqa: ANN401 - NumPy arrays
    """Return how many classes the secrets fall in, and a digest of which in which."""
    import numpy as np

    here = labels[np.unique(secret)]
    _, first, places = np.unique(here, return_index=True, return_inverse=True)
    ranks = np.empty(first.size, np.int64)
    ranks[np.argsort(first)] = np.arange(first.size)
    digest = hashlib.sha256(ranks[places].astype("<i8").tobytes()).hexdigest()
    return {"classes": int(first.size), "digest": digest}


def _blocks(symbols: int) -> list[tuple[str, str]]:
    """Return pairs of symbols that agree on one of four classes and on nothing else."""
    size = symbols // CLASSES
    codes = range(symbols)
    return [(str(x), str(y)) for x in codes for y in codes if x // size == y // size]


def common(symbols: int) -> Job:
    """Find what both sides always agree on, from listed pairs."""
    import hartley

    pairs = _blocks(symbols)

    def run() -> float:
        return hartley.maximin_information(hartley.Relation.from_pairs(pairs))

    run()
    return Job(run)


def with_dit(symbols: int) -> Job:
    """Find the Gács-Körner common information; all pairs and all classes are alike probable."""
    import dit

    pairs = _blocks(symbols)
    even = [1 / len(pairs)] * len(pairs)
    return Job(
        lambda: dit.multivariate.gk_common_information(dit.Distribution(pairs, even)),
        lambda bits: round(float(bits), 9),
    )


TASKS = {
    "write_edges": write_edges,
    "from_table": from_table,
    "from_arrays": from_arrays,
    "scipy": with_scipy,
    "networkx": with_networkx,
    "rustworkx": with_rustworkx,
    "common": common,
    "dit": with_dit,
}


# --- the benchmark ----------------------------------------------------------------------------


def run(settings: Settings) -> list[Row]:
    """Measure the partition of many edges and the common information of few symbols."""
    return _compare_edges(settings) + _compare_symbols(settings)


def _compare_edges(settings: Settings) -> list[Row]:
    edges = settings.sized(EDGES, QUICK_EDGES, 2000)
    settings.log(f"{NAME}: {edges:,} edges")
    if not _edges_path(edges).exists():
        measure(_work("writing the edges", "write_edges", edges=edges))
    works = [
        _work(FROM_TABLE, "from_table", edges=edges),
        _work(KERNEL, "from_arrays", edges=edges, calls=CALLS),
    ]
    missing: dict[str, str] = {}
    for peer in GRAPH_PEERS:
        try:
            # scipy is a dependency of the product, so both use the same one.
            python = (
                {} if peer == "scipy" else {"python": peer_python(peer, allowed=settings.peers)}
            )
            works.append(task(peer, __file__, peer, {"edges": edges}, **python))
        except PeerMissing as reason:
            missing[peer] = str(reason)
    rounds = measure_together(works, repeats=min(settings.repeats, 3))
    _check(rounds.found)
    # The aim is the partition of given edges; from a table, opening and coding come on top.
    aims = {} if settings.quick else {(KERNEL, "networkx"): LEAST_TIMES}
    missing |= rounds.failed
    return [
        row
        for product in (KERNEL, FROM_TABLE)
        for peer in GRAPH_PEERS
        for row in _rows(
            Topic(NAME, f"{edges:,} edges", product, peer),
            rounds,
            missing,
            aims.get((product, peer)),
        )
    ]


def _compare_symbols(settings: Settings) -> list[Row]:
    symbols = settings.sized(SYMBOLS, QUICK_SYMBOLS, 8)
    settings.log(f"{NAME}: {symbols} symbols")
    works = [_work(COMMON, "common", symbols=symbols, calls=CALLS)]
    missing: dict[str, str] = {}
    try:
        python = peer_python("dit", allowed=settings.peers)
        works.append(task(DIT, __file__, "dit", {"symbols": symbols}, python=python))
    except PeerMissing as reason:
        missing[DIT] = str(reason)
    rounds = measure_together(works, repeats=min(settings.repeats, 3))
    _check(rounds.found)
    topic = Topic(NAME, f"{symbols} symbols", COMMON, DIT)
    aim = None if settings.quick else LEAST_TIMES
    return _rows(topic, rounds, missing | rounds.failed, aim)


def _rows(topic: Topic, rounds: Rounds, missing: Mapping[str, str], aim: float | None) -> list[Row]:
    """Return how many times as fast as the peer the product is, or why that is not known."""
    names = topic.product, topic.against
    for name in names:
        if name in missing:
            return [topic.missing(missing[name])]
    found = rounds.found
    return [
        replace(topic, quantity=quantity).beats(
            ratio(found[topic.against], found[topic.product], field),
            at_least=aim,
            raw=raw(found, field, *names),
        )
        for quantity, field in (("wall time", "seconds"), ("CPU time", "cpu"))
    ]


def _work(name: str, task_name: str, **options: int) -> Work:
    return task(name, __file__, task_name, options)


def _check(found: Mapping[str, list[Measurement]]) -> None:
    """Refuse to compare unless all answers are equal."""
    answers = {name: [one.answer for one in measured] for name, measured in found.items()}
    told = [answer for several in answers.values() for answer in several]
    if any(answer != told[0] for answer in told):
        raise AssertionError(f"The answers differ: {answers}")


if __name__ == "__main__":
    serve(TASKS)
