"""
What is installed and shipped: dependencies and their reasons, locks, licence, container, archives.

Building and installing takes the package index, so that is `.ci/run`'s; here is what can be read.
"""

import ast
import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import abr_tts

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LOCKS = ("build.lock", "runtime.lock", "requirements.lock", "neural.lock", "doors.lock")

APACHE_2 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
"""SHA-256 of the licence's text as the Apache Software Foundation publishes it."""

LOCKED = re.compile(
    r"(?P<name>[a-z0-9-]+)==(?P<version>[^ ]+) \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+"
)
"""A package of a lock with its pinned version and at least one hash."""


COME_WITH = {
    "yarl": "aiohttp",
    "multidict": "aiohttp",
    "packaging": "pytest",
    "tokenizers": "transformers",
    "grpc": "grpcio",
    "opentelemetry": "opentelemetry_sdk",
    "grpc_health": "grpcio_health_checking",
    "grpc_reflection": "grpcio_reflection",
    "grpc_tools": "grpcio_tools",
    "google": "protobuf",
    "ruamel": "check_jsonschema",
    "jwt": "PyJWT",
    "cryptography": "PyJWT",
}
"""Imports that a declared package brings: yarl's URLs are part of aiohttp's interface."""


def imported(folder: str) -> set[str]:
    """Packages of others that the modules of a folder import, anywhere in them."""
    found = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module)
    tops = {name.partition(".")[0] for name in found}
    siblings = {path.stem for path in (ROOT / "tools").rglob("*.py")}
    return tops - sys.stdlib_module_names - siblings - {"abr_tts", "tests"}


def locked(name: str) -> dict[str, str]:
    """Package: version of a lock file."""
    text = (ROOT / ".ci" / name).read_text("utf-8")
    return {match["name"]: match["version"] for match in LOCKED.finditer(text)}


def check_dists():
    """The module of `.ci/`, which is no package."""
    spec = importlib.util.spec_from_file_location("check_dists", ROOT / ".ci" / "check_dists.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Dependencies


def test_every_dependency_stands_on_a_line_with_its_reason():
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    extras = PROJECT["project"]["optional-dependencies"]
    for requirement in [*PROJECT["project"]["dependencies"], *chain(*extras.values())]:
        assert re.search(rf'^ +"{re.escape(requirement)}", +# .{{10,}}$', text, re.M), requirement


@pytest.mark.parametrize(
    ("folder", "extras"),
    [
        ("abr_tts", ["espeak", "jwt", "torch", "grpc", "formats", "live", "otel"]),
        ("tests", ["espeak", "test", "words", "cosyvoice-test", "triton", "torch", "grpc", "formats"]),
    ],
)
def test_what_is_imported_is_declared(folder, extras):
    project = PROJECT["project"]
    wanted = [project["dependencies"], *(project["optional-dependencies"][extra] for extra in extras)]
    declared = {Requirement(line).name.replace("-", "_") for lines in wanted for line in lines}
    assert {COME_WITH.get(name, name) for name in imported(folder)} <= declared


def test_espeak_is_an_extra_because_of_its_licence():
    assert not any("espeak" in line for line in PROJECT["project"]["dependencies"])


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_pinned_hashed_packages_and_nothing_else(lock):
    text = (ROOT / ".ci" / lock).read_text("utf-8")
    rest = [line for line in LOCKED.sub("", text).splitlines() if not re.fullmatch(r"( *#.*)?", line)]
    assert rest == []
    assert "://" not in text and "/" not in "".join(locked(lock))


def test_the_runtime_lock_satisfies_every_dependency():
    versions = locked("runtime.lock")
    extras = PROJECT["project"]["optional-dependencies"]
    for line in [*PROJECT["project"]["dependencies"], *extras["espeak"]]:
        requirement = Requirement(line)
        assert requirement.specifier.contains(Version(versions[canonicalize_name(requirement.name)])), line


def test_the_test_lock_satisfies_the_test_extra_and_agrees_with_the_other_locks():
    versions = locked("requirements.lock")
    for line in PROJECT["project"]["optional-dependencies"]["test"]:
        requirement = Requirement(line)
        assert requirement.specifier.contains(Version(versions[canonicalize_name(requirement.name)])), line
    assert locked("build.lock").items() | locked("runtime.lock").items() <= versions.items()


def test_the_image_carries_no_tool_of_the_builders():
    assert locked("runtime.lock").keys().isdisjoint({"pytest", "ruff", "mypy", "hypothesis", "setuptools"})


# Metadata


def test_the_version_is_valid_and_the_changelog_knows_what_comes_next():
    assert str(Version(abr_tts.__version__)) == abr_tts.__version__
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert headings[0] == "Unreleased"
    assert all(Version(heading) for heading in headings[1:])


def test_the_licence_is_the_full_text_of_apache_2():
    assert hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest() == APACHE_2
    assert PROJECT["project"]["license"] == "Apache-2.0 AND BSD-3-Clause"


def test_the_package_says_that_it_is_typed_and_imports_nothing_by_itself():
    package = Path(abr_tts.__file__).parent
    assert (package / "py.typed").exists()
    tree = ast.parse((package / "__init__.py").read_text("utf-8"))
    assert not any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree))


# The container


def docker_lines(text: str) -> list[tuple[str, str]]:
    """(instruction, arguments), continued lines joined."""
    joined = re.sub(r"\\\n\s*", "", text)
    lines = (line.split(None, 1) for line in joined.splitlines() if line and not line.startswith("#"))
    return [(line[0].upper(), line[1]) for line in lines]


def docker_complaints(text: str) -> list[str]:
    """What a reviewer would send a Dockerfile back for."""
    lines = docker_lines(text)
    starts = [number for number, (what, _) in enumerate(lines) if what == "FROM"]
    final = dict(lines[starts[-1] :])
    found = ["one stage"] if len(starts) < 2 else []
    found += [f"{image} floats" for what, image in lines if what == "FROM" and not re.search(r":\d", image)]
    found += [] if "slim" in final["FROM"] else ["the final stage is not slim"]
    found += [] if re.fullmatch(r"[1-9]\d*(:[1-9]\d*)?", final.get("USER", "")) else ["runs as root"]
    for what in ("ENTRYPOINT", "CMD"):
        found += [] if _is_exec(final.get(what, "")) else [f"{what} goes through a shell"]
    check = final.get("HEALTHCHECK", "")
    found += [] if _is_exec(check.partition("CMD ")[2]) else ["no HEALTHCHECK in exec form"]
    for what, rest in lines:
        if what == "ADD" or (what == "COPY" and rest.startswith(". ")):
            found.append(f"{what} {rest}")
        if (
            what == "RUN"
            and "pip install" in rest
            and not ("--require-hashes" in rest or "--no-index" in rest)
        ):
            found.append(f"unpinned: {rest}")
    return found


def _is_exec(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return False


def test_the_dockerfile_is_small_pinned_unprivileged_and_watched():
    assert docker_complaints((ROOT / "Dockerfile").read_text("utf-8")) == []


def test_a_careless_dockerfile_is_sent_back():
    bad = "FROM python:latest\nCOPY . /app\nRUN pip install .\nUSER root\nHEALTHCHECK CMD true\nCMD run\n"
    assert len(docker_complaints(bad)) == 9


def test_the_build_context_holds_what_the_dockerfile_copies_and_starts_from_nothing():
    ignore = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    patterns = [line for line in ignore if line and not line.startswith("#")]
    allowed = {line[1:] for line in patterns if line.startswith("!")}
    assert patterns[0] == "*"
    sources = set()
    for what, rest in docker_lines((ROOT / "Dockerfile").read_text("utf-8")):
        if what == "COPY" and not rest.startswith("--from"):
            sources |= {source.rstrip("/") for source in rest.split()[:-1]}
    assert sources == allowed
    assert all((ROOT / source).exists() for source in sources)


# CI


@pytest.mark.parametrize("script", ["run", "lock"])
def test_ci_scripts_are_executable_and_parse(script):
    path = ROOT / ".ci" / script
    assert os.access(path, os.X_OK)
    assert path.read_text("utf-8").startswith("#!/usr/bin/env bash\n")
    assert "\nset -euo pipefail\n" in path.read_text("utf-8")
    subprocess.run(["bash", "-n", path], check=True, timeout=10)


GOOD_WHEEL = [
    *check_dists().PAGES,
    "abr_tts/__init__.py",
    "abr_tts/py.typed",
    "a.dist-info/licenses/LICENSE",
    "a.dist-info/licenses/NOTICE",
]


@pytest.mark.parametrize(
    "names",
    [
        [*GOOD_WHEEL, "tests/test_house.py"],
        [*GOOD_WHEEL, "abr_tts/__pycache__/units.pyc"],
        [name for name in GOOD_WHEEL if "py.typed" not in name],
        [name for name in GOOD_WHEEL if "NOTICE" not in name],
        [name for name in GOOD_WHEEL if "opus.wasm" not in name],
    ],
)
def test_a_wheel_with_too_much_or_too_little_is_found(names):
    assert check_dists().wheel_complaints(GOOD_WHEEL) == []
    assert len(check_dists().wheel_complaints(names)) == 1


def test_an_sdist_that_cannot_be_tested_is_found():
    dists = check_dists()
    good = [f"abr_tts-1/{name}" + ("x" if name.endswith("/") else "") for name in dists.SDIST_NEEDS]
    assert dists.sdist_complaints(good) == []
    assert dists.sdist_complaints(name for name in good if "SPEC" not in name) == [
        "sdist lacks protocol/SPEC.md"
    ]
    assert len(dists.sdist_complaints([*good, "abr_tts-1/hello.wav"])) == 1


def test_bad_metadata_is_found():
    good = (
        b"Metadata-Version: 2.4\nName: abr-tts\nVersion: 1\nLicense-Expression: Apache-2.0 AND BSD-3-Clause\n"
    )
    dists = check_dists()
    assert dists.metadata_complaints(good) == []
    assert dists.metadata_complaints(good.replace(b"Apache-2.0 AND ", b""))
    assert dists.metadata_complaints(good.replace(b"Version: 1\n", b"Version: one\n"))


INSTALLS = re.compile(r"pip install '?(?P<what>[\w.-]*)\[(?P<extras>[^\]]+)\]")
"""Where it is said how an extra is installed."""


def test_extras_are_installed_from_a_copy_of_the_folder_wherever_that_is_said():
    """As in README's first command: whether any index has the package, nobody promises."""
    folders = [ROOT / name for name in ("abr_tts", "docs", "protocol", "tools")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".md")]
    read = {path: INSTALLS.findall(path.read_text("utf-8")) for path in [ROOT / "README.md", *files]}
    said = {path.relative_to(ROOT).as_posix(): found for path, found in read.items() if found}
    assert {path for path, found in said.items() if {what for what, _ in found} != {"."}} == set()
    ours = {path for path in said if path.startswith("abr_tts/")}
    assert ours == {"abr_tts/errors.py"}, "one place makes the sentence"
    named = {one for found in said.values() for _, extras in found for one in extras.split(",")} - {"{extra}"}
    assert named <= set(PROJECT["project"]["optional-dependencies"]) and len(named) > 10
