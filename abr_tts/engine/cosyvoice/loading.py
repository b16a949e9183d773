"""
From options to a model: its class by what the folder holds, its constructor by what that takes.

Nothing is downloaded: a folder that is not there is an error, not a name to look up in a hub.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from ...errors import EngineError, MissingDependency
from ..base import Progress
from .options import SWITCHES, Options

FILES = {"cosyvoice.yaml": 1, "cosyvoice2.yaml": 2, "cosyvoice3.yaml": 3}
"""The file that says of which version a folder of weights is, in the order in which CosyVoice looks."""

CLASSES = {1: "CosyVoice", 2: "CosyVoice2", 3: "CosyVoice3"}

HOW_TO_GET = (
    "CosyVoice is not installed for this interpreter: name one that has it in engine.python, "
    "or a checkout of it in engine.options.path"
)


def load_model(options: Options, progress: Progress) -> tuple[Any, int]:
    """
    The model, and which version of CosyVoice it is.

    Raises:
        MissingDependency: CosyVoice or a package that it needs is not there.
        EngineError: not a folder of weights, or the constructor refused.
    """
    version = version_of(Path(options.model_dir))
    prepare(options)
    progress("importing CosyVoice", 0.02)
    module = _imported()
    build = getattr(module, CLASSES[version], None)
    if build is None:
        raise MissingDependency(f"this copy of CosyVoice has no {CLASSES[version]}: a newer one is needed")
    arguments = arguments_for(build, options)
    progress("reading the weights", 0.2)
    try:
        model = build(options.model_dir, **arguments)
    except (ImportError, MissingDependency):
        raise
    except Exception as error:
        raise EngineError(
            f"{CLASSES[version]} cannot be built from {options.model_dir}: {type(error).__name__}: {error}"
        ) from error
    _check_gpu(options)
    logging.getLogger().setLevel(logging.WARNING)  # it logs every text that it speaks
    return model, version


def version_of(folder: Path) -> int:
    """
    Which version the weights in `folder` are of.

    Raises:
        EngineError: there is no such folder, or none of the files that say so.
    """
    if not folder.is_dir():
        raise EngineError(f"cosyvoice: there is no folder {folder}")
    for name, version in FILES.items():
        if (folder / name).is_file():
            return version
    raise EngineError(f"cosyvoice: {folder} holds none of {', '.join(FILES)}")


def prepare(options: Options) -> None:
    """What must stand before torch is imported: the search path, and the devices that it may see."""
    if options.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.environ.setdefault("TQDM_DISABLE", "1")  # else a progress bar for each text goes to the log
    if options.path is None:
        return
    checkout = Path(options.path)
    if not (checkout / "cosyvoice" / "cli").is_dir():
        raise EngineError(f"cosyvoice: path {checkout} is no checkout of CosyVoice: no cosyvoice/cli in it")
    matcha = checkout / "third_party" / "Matcha-TTS"
    if not (matcha / "matcha").is_dir():
        raise EngineError(f"cosyvoice: {matcha} is empty: run git submodule update --init in the checkout")
    sys.path[:0] = [str(checkout), str(matcha)]


def _imported() -> ModuleType:
    try:
        return importlib.import_module("cosyvoice.cli.cosyvoice")
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] == "cosyvoice":
            raise MissingDependency(HOW_TO_GET) from None
        raise MissingDependency(f"CosyVoice needs the package {error.name}, which is not installed") from None


def arguments_for(build: Callable[..., Any], options: Options) -> dict[str, Any]:
    """
    The arguments for the constructor `build`.

    Raises:
        EngineError: one was asked for that this version does not take.
    """
    asked: dict[str, Any] = {name: True for name in SWITCHES if getattr(options, name)}
    if options.trt_concurrent:
        asked["trt_concurrent"] = options.trt_concurrent
    asked.update(options.constructor)
    parameters = inspect.signature(build).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    refused = [name for name in asked if name not in parameters and not takes_all]
    if refused:
        name = getattr(build, "__name__", "the model")
        raise EngineError(f"{name} of this CosyVoice takes no {', '.join(refused)}")
    # cosyvoice2-eu reads llm-original.pt and so on unless it is told that the weights are final.
    if "final" in parameters and (Path(options.model_dir) / "llm.pt").is_file():
        asked.setdefault("final", True)
    return asked


def _check_gpu(options: Options) -> None:
    """CosyVoice goes on without a GPU in silence, whatever was asked of it."""
    torch = sys.modules.get("torch")
    wants = [name for name in SWITCHES if getattr(options, name)]
    if options.device == "cuda":
        wants.insert(0, "device = cuda")
    if torch is not None and wants and not torch.cuda.is_available():
        raise EngineError(f"cosyvoice: {wants[0]} needs a GPU that torch can use; there is none")
