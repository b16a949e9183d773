"""
The house rules as functions: from a module's source, read with `ast`, to a list of complaints.

Who may look at whom, what a pure room may not touch, how long things may be, what must run under
Python 3.10. `test_house.py` holds the tree to them and shows that each of them can fail.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from abr_tts.engine.kinds import KINDS

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "abr_tts"


def words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


GROUND = ("units", "errors", "trace")
UP_TO_STREAM = (*GROUND, "audio", "wire", "control", "stream")
MAY_IMPORT = {
    "__init__": (),
    "units": (),
    "errors": (),
    "trace": (),
    "audio": GROUND,
    "wire": GROUND,
    "control": (*GROUND, "wire.messages"),
    "stream": UP_TO_STREAM,
    "engine": ("units", "errors", "audio.pcm"),
    "web": (),
    "sim": UP_TO_STREAM,
    "client": ("units", "errors", "audio", "wire", "stream", "__init__"),
    "server": (*UP_TO_STREAM, "engine", "__init__"),
    "demo": (*UP_TO_STREAM, "sim", "client", "engine", "server", "__init__"),
    "cli": None,
    "__main__": None,
}
"""Room: the rooms (or single modules) it may import beside itself; None: anything. `__init__` is the
package itself, which holds the version and imports nothing."""

PURE = frozenset({"units", "errors", "trace", "audio", "wire", "control", "stream", "sim"})
IMPURE_MODULES = words(
    "asyncio concurrent datetime logging multiprocessing os secrets selectors signal socket ssl",
    "subprocess threading time uuid aiohttp",
)
"""What a pure room may not import: clocks, threads, sockets, the environment, foreign randomness."""

BLAS = frozenset({"dot", "vdot", "inner", "matmul", "einsum", "tensordot", "linalg"})
"""numpy names that end in BLAS, whose sums differ from machine to machine: not for decisions."""

TORCH = frozenset({"torch", "torchaudio"})
TORCH_MODULE = "audio.torch_resample"
"""The one module outside the engines that loads torch, and only when asked: inside a function."""

MOST_LINES = 420
MOST_FUNCTION_LINES = 60

WORKER_ROOTS = (
    *("units", "errors", "audio.pcm"),
    *("engine.worker", "engine.base", "engine.ipc", "engine.kinds"),
    *(f"engine.{kind.module}" for kind in KINDS.values() if not kind.remote),
)
"""Modules that run in an engine's own interpreter, which may be a Python 3.10; with all they import."""

WORKER_PACKAGES = frozenset({"numpy", "msgpack"})
ENGINE_PACKAGES = {
    "engine.libespeak": words("espeakng_loader"),
}
"""Module, or package of modules: what else it may import, because its engine brings it along."""

SINCE_3_11 = {
    "asyncio": words("TaskGroup Runner timeout timeout_at Barrier"),
    "contextlib": words("chdir"),
    "datetime": words("UTC"),
    "enum": words("StrEnum ReprEnum EnumCheck verify member nonmember global_enum"),
    "hashlib": words("file_digest"),
    "itertools": words("batched"),
    "operator": words("call"),
    "typing": words(
        "Self Never LiteralString Required NotRequired Unpack TypeVarTuple assert_never assert_type",
        "reveal_type dataclass_transform get_overloads override",
    ),
}
"""Names of the standard library that Python 3.10 does not have, by module; and these of none:"""
BUILT_IN_SINCE_3_11 = words("ExceptionGroup BaseExceptionGroup add_note")

MACHINE_PATH = re.compile(r"(?<![\w.])/(?:w[o]rk|f[a]rm|r[o]ot|U[s]ers|t[m]p/w)/")
"""A folder of somebody's own machine; the brackets keep this line from finding itself."""

UNFINISHED = re.compile(r"\b(?:T[O]DO|F[I]XME|X[X]X|H[A]CK)\b")


def module_name(path: Path, root: Path = ROOT) -> str:
    """`abr_tts/engine/tone.py` -> `engine.tone`; a package's `__init__` carries the package's name."""
    parts = list(path.relative_to(root / PACKAGE).with_suffix("").parts)
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


def room_of(module: str) -> str:
    return module.split(".")[0]


def imports(tree: ast.AST, module: str, is_package: bool = False) -> Iterator[tuple[str, str, int]]:
    """(module, imported name or "", line) of every import anywhere; ours are given in full."""
    package = [PACKAGE, *module.split(".")]
    if module == "__init__":
        package = [PACKAGE]
    elif not is_package:
        package = package[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, "", node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *(node.module.split(".") if node.module else [])])
            for alias in node.names:
                yield source, alias.name, node.lineno


def our_modules(tree: ast.AST, module: str, is_package: bool = False) -> Iterator[tuple[str, int]]:
    """The modules of ours that `module` imports, as `wire.messages`, each with its line."""
    for source, name, line in imports(tree, module, is_package):
        if source != PACKAGE and not source.startswith(PACKAGE + "."):
            continue
        inner = source[len(PACKAGE) + 1 :]
        full = f"{inner}.{name}" if inner else name
        if (ROOT / PACKAGE / Path(*full.split(".")).with_suffix(".py")).exists() or full in MAY_IMPORT:
            yield full, line
        else:
            yield inner or "__init__", line


def import_complaints(source: str, module: str, is_package: bool = False) -> list[str]:
    """Imports that the table does not allow."""
    room = room_of(module)
    if room not in MAY_IMPORT:
        return [f"{room} is not in the table of rooms"]
    allowed = MAY_IMPORT[room]
    if allowed is None:
        return []
    return [
        f"{module}:{line} imports {ours}"
        for ours, line in our_modules(ast.parse(source), module, is_package)
        if room_of(ours) != room and room_of(ours) not in allowed and ours not in allowed
    ]


def purity_complaints(source: str, module: str) -> list[str]:
    """Clocks, threads, sockets, the environment and randomness in a pure room."""
    tree = ast.parse(source)
    found = [
        f"{module}:{line} imports {name}"
        for name, _, line in imports(tree, module)
        if name.split(".")[0] in IMPURE_MODULES
    ]
    for name, what, line in imports(tree, module):
        if (name == "random" and what not in ("", "Random")) or f"{name}.{what}" == "numpy.random":
            found.append(f"{module}:{line} imports {what} of {name}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            dotted = f"{node.value.id}.{node.attr}"
            chance = node.value.id == "random" and node.attr != "Random"
            if chance or dotted in ("np.random", "numpy.random"):
                found.append(f"{module}:{node.lineno} uses {dotted}")
        if isinstance(node, ast.Call) and not node.args and ast.unparse(node.func).endswith("Random"):
            found.append(f"{module}:{node.lineno} makes a Random without a seed")
    return found


def blas_complaints(source: str, module: str) -> list[str]:
    """Matrix products in a room that decides."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            found.append(f"{module}:{node.lineno} uses @")
        elif isinstance(node, ast.Attribute) and node.attr in BLAS:
            found.append(f"{module}:{node.lineno} uses {node.attr}")
    return found


def torch_complaints(source: str, module: str) -> list[str]:
    """torch in another module than its own, or loaded together with that."""
    tree = ast.parse(source)
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = {line for one in functions for line in range(one.lineno, (one.end_lineno or 0) + 1)}
    return [
        f"{module}:{line} imports {name}"
        for name, _, line in imports(tree, module)
        if name.split(".")[0] in TORCH and (module != TORCH_MODULE or line not in inside)
    ]


def size_complaints(source: str, module: str) -> list[str]:
    """A file or a function that is too long to be read in one go."""
    lines = len(source.splitlines())
    found = [f"{module} has {lines} lines"] if lines > MOST_LINES else []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MOST_FUNCTION_LINES:
                found.append(f"{module}:{node.lineno} {node.name} has {length} lines")
    return found


def docstring_complaints(source: str, module: str) -> list[str]:
    """A module that does not say what it is for."""
    return [] if ast.get_docstring(ast.parse(source)) else [f"{module} has no docstring"]


def python_3_10_complaints(source: str, module: str) -> list[str]:
    """Syntax, names and packages that a worker's Python 3.10 would not have."""
    try:
        tree = ast.parse(source, feature_version=(3, 10))
    except SyntaxError as error:
        return [f"{module}:{error.lineno} {error.msg}"]
    found = []
    own = frozenset().union(
        *(more for name, more in ENGINE_PACKAGES.items() if f"{module}.".startswith(f"{name}."))
    )
    known = {PACKAGE, *WORKER_PACKAGES, *own, *sys.stdlib_module_names}
    for name, what, line in imports(tree, module):
        top = name.split(".")[0]
        if top not in known:
            found.append(f"{module}:{line} needs the package {top}")
        if top == "tomllib" or what in SINCE_3_11.get(name, ()):
            found.append(f"{module}:{line} imports {name} {what}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in SINCE_3_11.get(owner, BUILT_IN_SINCE_3_11):
                found.append(f"{module}:{node.lineno} uses {owner}.{node.attr}")
        elif isinstance(node, ast.Name) and node.id in BUILT_IN_SINCE_3_11:
            found.append(f"{module}:{node.lineno} uses {node.id}")
    return found


def protocol_complaints(source: str, module: str) -> list[str]:
    """An import of protocol/, which is obeyed and never imported."""
    found = imports(ast.parse(source), module)
    return [f"{module}:{line} imports {name}" for name, _, line in found if name.split(".")[0] == "protocol"]


def text_complaints(text: str, name: str) -> list[str]:
    """Paths of somebody's machine, and marks of unfinished work."""
    return [
        f"{name}:{number} {line.strip()[:80]}"
        for number, line in enumerate(text.splitlines(), 1)
        if MACHINE_PATH.search(line) or UNFINISHED.search(line)
    ]
