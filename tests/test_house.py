"""
The whole tree keeps the rules of `house.py`, and every rule refuses a bad snippet.
"""

import ast
from pathlib import Path

import pytest

from . import house
from .house import MOST_FUNCTION_LINES, MOST_LINES, PACKAGE, PURE, ROOT, WORKER_ROOTS

TEXT_SUFFIXES = {".py", ".md", ".toml", ".json", ".in", ".lock", ".yaml", ".js", ".mjs", ".html", ".css"}
FOLDERS = (PACKAGE, "protocol", "tests", "tools", "docs", ".ci")
TOP_FILES = ("pyproject.toml", "README.md", "CHANGELOG.md", "NOTICE", "Dockerfile", ".dockerignore")


def package_files() -> list[Path]:
    return sorted((ROOT / PACKAGE).rglob("*.py"))


def python_files() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def text_files() -> list[Path]:
    inside = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    known = [path for path in inside if path.suffix in TEXT_SUFFIXES or path.parent.name == ".ci"]
    return sorted(path for path in known if "vendor" not in path.parts) + [ROOT / name for name in TOP_FILES]


def rooms(*names: str) -> list[Path]:
    return [path for path in package_files() if house.room_of(house.module_name(path)) in names]


def worker_side() -> set[str]:
    """The worker's modules and everything of ours that they import, with the packages around them."""
    waiting = [name for name in WORKER_ROOTS if file_of(name).exists()]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            path = file_of(name)
            found = house.our_modules(ast.parse(path.read_text("utf-8")), name, path.name == "__init__.py")
            waiting += [ours for ours, _ in found] + [name.rpartition(".")[0] or "__init__"]
    return seen


def file_of(module: str) -> Path:
    path = ROOT / PACKAGE / Path(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def judge(rule, paths) -> list[str]:
    return [
        complaint for path in paths for complaint in rule(path.read_text("utf-8"), house.module_name(path))
    ]


def test_every_room_imports_only_what_the_table_allows():
    found = []
    for path in package_files():
        found += house.import_complaints(
            path.read_text("utf-8"), house.module_name(path), path.name == "__init__.py"
        )
    assert found == []


def test_pure_rooms_know_no_clock_thread_socket_or_chance():
    assert judge(house.purity_complaints, rooms(*PURE)) == []


def test_decisions_use_no_blas():
    assert judge(house.blas_complaints, rooms("control")) == []


def test_torch_is_loaded_by_one_module_and_when_asked():
    rest = {*house.MAY_IMPORT} - {"engine"}
    assert judge(house.torch_complaints, rooms(*rest)) == []


def test_no_file_and_no_function_is_too_long():
    assert judge(house.size_complaints, package_files()) == []


@pytest.mark.parametrize("folder", ["tests", "tools", ".ci"])
def test_no_other_python_file_is_too_long(folder):
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in (ROOT / folder).rglob("*.py")}
    assert {name: length for name, length in lengths.items() if length > MOST_LINES} == {}


def test_every_module_says_what_it_is_for():
    assert judge(house.docstring_complaints, package_files()) == []


def test_the_worker_side_runs_under_python_3_10():
    names = worker_side()
    assert {"engine", "engine.worker", "audio", "audio.pcm", "__init__"} <= names
    assert judge(house.python_3_10_complaints, map(file_of, sorted(names))) == []


def test_nobody_imports_protocol():
    found = []
    for path in python_files():
        found += house.protocol_complaints(path.read_text("utf-8"), path.stem)
    assert found == []


def test_no_file_names_a_machine_path_or_unfinished_work():
    found = []
    for path in text_files():
        found += house.text_complaints(path.read_text("utf-8"), str(path.relative_to(ROOT)))
    assert found == []


# Each rule can fail


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("units", "from abr_tts.errors import AbrError"),
        ("audio.opus", "from ..wire import messages"),
        ("wire.codec", "from ..audio.pcm import to_int16"),
        ("control.policy", "import abr_tts.audio.pcm"),
        ("control.policy", "from ..wire.codec import encode"),
        ("stream.core", "from ..engine.base import Voice"),
        ("engine.worker", "from ..audio import resample"),
        ("engine.worker", "from ..wire.messages import Hello"),
        ("client.client", "def late():\n    from ..server.app import Server"),
        ("client.client", "from ..control.ladder import FULL"),
        ("server.app", "from ..client.client import Client"),
        ("server.openai.front", "from ...client.client import Client"),
        ("lobby.desk", "import json"),
    ],
)
def test_a_forbidden_import_is_found(module, line):
    assert len(house.import_complaints(line, module)) == 1


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("audio.opus", "from ..errors import OpusError\nfrom .. import units\nfrom . import pcm"),
        ("control.policy", "from ..wire.messages import BitRateHint"),
        ("engine.pool", "import asyncio\nfrom ..audio.pcm import to_int16\nfrom ..audio import pcm"),
        ("server.app", "from .. import __version__\nfrom ..engine.pool import Pool"),
        ("cli", "from .server.app import Server\nfrom .client.client import Client"),
    ],
)
def test_an_allowed_import_is_not_complained_of(module, line):
    assert house.import_complaints(line, module) == []


@pytest.mark.parametrize(
    "line",
    [
        "import time",
        "import os.path",
        "from asyncio import Queue",
        "def f():\n    import threading",
        "from random import choice",
        "import random\nrandom.seed(1)",
        "import random\nr = random.Random()",
        "from random import Random\nr = Random()",
        "import numpy as np\nnp.random.default_rng(1)",
        "from numpy import random",
    ],
)
def test_impurity_is_found(line):
    assert house.purity_complaints(line, "audio.bad")


def test_a_seeded_random_and_an_injected_one_are_pure():
    assert (
        house.purity_complaints(
            "import random\ndef f(r: random.Random): ...\nr = random.Random(7)", "sim.link"
        )
        == []
    )


@pytest.mark.parametrize("line", ["x = a @ b", "import numpy as np\nnp.dot(a, b)", "np.linalg.norm(a)"])
def test_blas_is_found(line):
    assert len(house.blas_complaints(line, "control.bad")) == 1


def test_torch_elsewhere_or_at_once_is_found():
    lazy = "def load():\n    import torch\n    from torchaudio.transforms import Resample"
    assert house.torch_complaints(lazy, house.TORCH_MODULE) == []
    assert len(house.torch_complaints(lazy, "stream.track")) == 2
    assert len(house.torch_complaints("import torch\n\n" + lazy, house.TORCH_MODULE)) == 1


def test_a_long_file_and_a_long_function_are_found_and_the_limit_itself_is_allowed():
    body = "    x = 1\n"
    assert house.size_complaints("x = 1\n" * MOST_LINES, "m") == []
    assert len(house.size_complaints("x = 1\n" * (MOST_LINES + 1), "m")) == 1
    assert house.size_complaints("def f():\n" + body * (MOST_FUNCTION_LINES - 1), "m") == []
    assert (
        len(house.size_complaints("class C:\n  async def f(self):\n" + body * MOST_FUNCTION_LINES, "m")) == 1
    )


def test_a_module_without_a_docstring_is_found():
    assert house.docstring_complaints("# a comment is none\nx = 1\n", "m") == ["m has no docstring"]


@pytest.mark.parametrize(
    "line",
    [
        "try:\n    pass\nexcept* ValueError:\n    pass",
        "import tomllib",
        "from enum import StrEnum",
        "import enum\nclass Code(enum.StrEnum): ...",
        "from typing import Self",
        "raise ExceptionGroup('two', [])",
        "import asyncio\nasyncio.TaskGroup()",
        "from contextlib import chdir",
        "error.add_note('more')",
        "import aiohttp",
        "import espeakng_loader",
    ],
)
def test_what_python_3_10_lacks_is_found(line):
    assert house.python_3_10_complaints(line, "engine.bad")


def test_a_name_that_was_new_elsewhere_is_no_fault():
    assert (
        house.python_3_10_complaints("import os\nos.chdir('x')\nself.runner.timeout = UTC", "engine.good")
        == []
    )


def test_an_import_of_protocol_is_found():
    assert house.protocol_complaints("from protocol import schema", "m") == ["m:1 imports protocol"]


def test_machine_paths_and_unfinished_work_are_found():
    assert house.text_complaints("data = '/" + "work/main/x.json'", "m")
    assert house.text_complaints("# TO" + "DO: later", "m")
    assert house.text_complaints("https://example.org/" + "work/x and ./" + "work/y", "m") == []
