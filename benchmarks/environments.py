"""One virtual environment a peer, because their pins conflict; made on demand."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from measure import Work, WorkError, measure

FOLDER = Path(__file__).parent / ".environments"

PEERS = {
    "networkx": ("networkx", "numpy"),
    "rustworkx": ("rustworkx", "numpy"),
    "dit": ("dit",),
    "cvxpy": ("cvxpy", "clarabel", "numpy"),
    "qif": ("qif", "numpy"),
    "pycanon": ("pycanon", "pandas==2.3.3", "numpy==2.0.2"),  # later ones make it fail
    "opendp": ("opendp", "opendp[polars]"),
    "diffprivlib": ("diffprivlib", "scikit-learn<1.6"),  # it imports names that later ones lack
}
"""What is installed for each peer, by package name."""

OWN = ("hartley", "duckdb", "ibis-framework", "numba", "numpy", "pandas", "pyarrow", "scipy")
"""The packages of the product's own environment that the results name."""

_VERSIONS = """
import importlib.metadata as metadata, json, sys
print(json.dumps({name: metadata.version(name) for name in sys.argv[1:]}))
"""


class PeerMissing(Exception):  # noqa: N818 - a state of this machine, not a fault of the code
    """A peer is not there to be measured; the message says why."""


def peer_python(name: str, *, allowed: bool = True) -> str:
    """Return the interpreter of a peer's own environment, which is made if need be.

    Args:
        name: of the peer, a key of ``PEERS``.
        allowed: whether peers may be installed and run at all.
    """
    if not allowed:
        raise PeerMissing("left out: run without --no-peers")
    folder = FOLDER / name
    python, done = folder / "bin" / "python", folder / ".installed"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        _create(name, folder, python)
        done.touch()
    return str(python)


def _create(name: str, folder: Path, python: Path) -> None:
    print(f"Installing the peer {name}", flush=True)
    install = ("-m", "pip", "--disable-pip-version-check", "--quiet", "install", *PEERS[name])
    try:
        measure(Work("venv", (sys.executable, "-m", "venv", str(folder))))
        measure(Work("pip", (str(python), *install)))
    except WorkError as error:
        reason = str(error) if "No matching distribution" in str(error) else "pip failed"
        raise PeerMissing(f"not installed: {reason}") from None


def versions(*, peers: bool) -> dict[str, str]:
    """Return the versions of the product's packages, and of the peers that are installed."""
    found = _versions(sys.executable, OWN)
    for name in PEERS if peers else ():
        if (FOLDER / name / ".installed").exists():
            found |= _versions(peer_python(name), PEERS[name][:1])
    return found


def _versions(python: str, packages: tuple[str, ...]) -> dict[str, str]:
    answer = measure(Work("versions", (python, "-c", _VERSIONS, *packages))).answer
    read: dict[str, str] = json.loads(answer)
    return read
