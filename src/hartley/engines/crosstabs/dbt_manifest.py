"""The manifest of a dbt project: which of its models are published, and what they are about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.engines.crosstabs.description import Descriptions, read_description
from hartley.errors import OptionError
from hartley.files import one_line, parse_json, read_text_file

if TYPE_CHECKING:
    import os


def read_manifest(path: str | os.PathLike[str]) -> tuple[list[str], Descriptions]:
    """Return the files of all models that are published, and what their meta says about them.

    A model is published if its ``meta`` has the part ``hartley``, with the fields of a block of
    ``outputs.toml``; ``file`` names what it is exported to, by default the ``location`` of an
    external model. Names of files count from the folder of the project.

    Args:
        path: ``target/manifest.json``, as dbt writes it.
    """
    content = parse_json(read_text_file(path, what="manifest"), what=f"manifest {path}")
    nodes = content.get("nodes") if isinstance(content, dict) else None
    if not isinstance(nodes, dict):
        raise OptionError(
            f"{path} is not a manifest of dbt", hint="give target/manifest.json, after dbt build"
        )
    project = Path(path).resolve().parent.parent
    files: list[str] = []
    outputs = {}
    for _, node in sorted(nodes.items()):
        config = node.get("config") if isinstance(node, dict) else None
        config = config if isinstance(config, dict) else {}
        block = _meta(node, config)
        if block is None:
            continue
        name = one_line(str(node.get("name", "")))
        fields = dict(block)
        file = fields.pop("file", None) or config.get("location")
        if not isinstance(file, str):
            raise OptionError(
                f"The model {name} is published, but its file is not known",
                hint="materialise it as external with a location, or name the file in its meta: "
                "hartley: {file: published.csv}",
            )
        files.append(str(project / file))
        outputs[files[-1]] = read_description(fields)
    if not files:
        raise OptionError(
            f"No model of {path} is published",
            hint="add meta: {hartley: {dims: [region, sex]}} to those that are",
        )
    return files, Descriptions(outputs)


def _meta(node: Any, config: dict[str, Any]) -> dict[str, Any] | None:
    """Return the part ``hartley`` of the meta of a model; dbt keeps it in two places."""
    if not isinstance(node, dict) or node.get("resource_type") != "model":
        return None
    for meta in (config.get("meta"), node.get("meta")):
        if isinstance(meta, dict) and isinstance(meta.get("hartley"), dict):
            block: dict[str, Any] = meta["hartley"]
            return block
    return None
