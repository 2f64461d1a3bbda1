"""Compile the loops that are compiled when Hartley is installed.

The build of the package runs this. Without a C compiler or Python's headers Hartley is installed
all the same, and computes every price in Python.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from Cython.Build import cythonize
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from setuptools import Distribution, Extension
from setuptools.errors import BaseError, CCompilerError

SOURCE = Path("src/hartley/kernels/batch_price.pyx")
MODULE = "hartley.kernels.batch_price"
COMPILED = (".so", ".pyd")


class CompileKernels(BuildHookInterface):  # type: ignore[type-arg]  # its configuration is unused
    """Compile the kernels into the wheel, or beside their source if that is installed in place."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tell the builder what there is to add to the wheel."""
        source = Path(self.root, SOURCE)
        if version == "editable":
            for compiled_before in source.parent.glob(f"{source.stem}.*"):
                if compiled_before.suffix in COMPILED:
                    # It may have been made from another text, and removed by another build.
                    compiled_before.unlink(missing_ok=True)
        self._made = TemporaryDirectory()
        try:
            compiled = compile_module(source, Path(self._made.name))
        except (BaseError, CCompilerError) as error:
            self.app.display_warning(
                f"Prices will be computed in Python, which takes longer ({error}); hint: install a "
                "C compiler and Python's headers, such as gcc and python3-dev, and install again"
            )
            return
        if version == "editable":
            # Whole at once: a process may load it, or another build write it, at the same time.
            beside = source.parent / f"{os.getpid()}.{compiled.name}"
            shutil.copy2(compiled, beside)
            beside.replace(source.parent / compiled.name)
            return
        build_data["force_include"][str(compiled)] = f"hartley/kernels/{compiled.name}"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - the builder's interface
        """Remove what was made on the way."""
        self._made.cleanup()


def compile_module(source: Path, folder: Path) -> Path:
    """Compile a module into a folder, and return the file."""
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    extension = Extension(MODULE, [str(source)], define_macros=[("SOURCE_SHA256", f'"{digest}"')])
    distribution = Distribution(
        {"ext_modules": cythonize([extension], build_dir=str(folder), quiet=True)}
    )
    build = distribution.get_command_obj("build_ext")
    build.build_lib, build.build_temp = str(folder / "lib"), str(folder / "objects")  # type: ignore[attr-defined]  # options of this command
    build.ensure_finalized()
    build.run()
    return Path(build.get_outputs()[0])
