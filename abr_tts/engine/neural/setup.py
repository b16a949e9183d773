"""
What the neural engines share at their start: options that are checked, threads, packages that may be missing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ...errors import EngineError, MissingDependency, to_install

MOST_THREADS = 64
"""Threads of one model at most; more only wait for each other. A guess."""

WORDS = {int: "a whole number", float: "a number", str: "a text"}
"""Type of an option → what an operator calls it."""


def checked(engine: str, options: Mapping[str, Any], known: Mapping[str, type]) -> dict[str, Any]:
    """
    `options`, of which each is one of `known`, by name → type.

    Raises:
        EngineError: one is not known or of another type.
    """
    for name, value in options.items():
        if name not in known:
            raise EngineError(f"{engine} has no option {name!r}; there are {', '.join(sorted(known))}")
        if type(value) is int and known[name] is float:
            continue
        if type(value) is not known[name]:
            raise EngineError(f"{engine}: option {name} must be {WORDS[known[name]]}, not {value!r}")
    return dict(options)


def threads(engine: str, options: Mapping[str, Any], default: int) -> int:
    """
    Threads for a model: the option `threads`, else what `engine.threads` says, else `default`.

    Raises:
        EngineError: not from 1 to `MOST_THREADS`.
    """
    # OpenMP takes a list, a number for each level of nesting; the first is ours.
    common = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    count = options.get("threads") or int(common if common.isdecimal() else 0) or default
    if not 1 <= count <= MOST_THREADS:
        raise EngineError(f"{engine}: {count} threads; it must be 1 to {MOST_THREADS}")
    return int(count)


def needed(module: str, extra: str) -> Any:
    """
    The module of that name.

    Raises:
        MissingDependency: it is not installed, or cannot be imported; names the extra that brings it.
    """
    try:
        return import_module(module)
    except ImportError as fault:
        raise MissingDependency(f"{module} cannot be imported ({fault}): {to_install(extra)}") from None


def release(distribution: str) -> str:
    """The version that is installed; "" of what was put there by other means."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


def session(model: str | bytes, count: int) -> Any:
    """
    An ONNX Runtime session on the CPU with `count` threads.

    Threads that wait do not spin: the server and other workers have use for the cores (Kokoro on
    two busy cores: a quarter less CPU at the same speed, measured here).

    Raises:
        MissingDependency: onnxruntime is not installed.
        EngineError: this is not a model that it can read.
    """
    runtime = needed("onnxruntime", "neural")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = count
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as fault:  # its exceptions are of no common class
        name = model if isinstance(model, str) else "the model"
        raise EngineError(f"{name} cannot be loaded: {fault}") from None
