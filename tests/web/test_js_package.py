"""
The npm package: its types are strict and fresh, its form is right, and it installs from its tarball.

It needs Node.js, and the npm registry for the tools that `tests/js/package-lock.json` pins. Where `CI` is
set nothing is skipped.
"""

import json
import shutil
import subprocess

import pytest

import abr_tts
from abr_tts.web import STATIC

from .node import IN_CI, JS, needs_node, run

pytestmark = needs_node

USE = """
import { Connection, Listener, Reporter, encode } from 'abr-tts';
import { loadOpus } from 'abr-tts/opus.js';
import { readFileSync } from 'node:fs';
const connection = new Connection(0);
const hello = { type: 'hello' };
if (connection.send(hello) !== encode(hello).length) throw new Error('hello');
const opus = await loadOpus(readFileSync(new URL(import.meta.resolve('abr-tts/opus.wasm'))));
const listener = new Listener({ opus, outRate: 48000 });
console.log(listener.canRender, new Reporter(0).received, opus.limit > 0);
"""

TYPED = """
import { Listener, decode } from 'abr-tts';
import type { Meters } from 'abr-tts';
const listener = new Listener({ outRate: 48000 });
const samples: Float32Array | null = listener.render();
const meters: Meters = listener.meters;
// @ts-expect-error: a rate is a number
new Listener({ outRate: '48000' });
export { samples, meters, decode };
"""


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """A folder with the pinned tools, and the sources where the configuration looks for them."""
    root = tmp_path_factory.mktemp("npm")
    shutil.copytree(JS, root / "tests" / "js", ignore=shutil.ignore_patterns("node_modules"))
    shutil.copytree(STATIC, root / "abr_tts" / "web" / "static")
    folder = root / "tests" / "js"
    try:
        run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", cwd=folder, seconds=300)
    except (AssertionError, OSError, subprocess.TimeoutExpired) as fault:
        if IN_CI:
            raise
        pytest.skip(f"the tools cannot be installed here: {fault}")
    return folder


@pytest.fixture(scope="module")
def static(tools):
    """The copy of the package beside the tools."""
    return tools.parents[1] / "abr_tts" / "web" / "static"


@pytest.fixture(scope="module")
def tarball(static):
    (packed,) = json.loads(run("npm", "pack", "--json", cwd=static))
    return static / packed["filename"], {entry["path"] for entry in packed["files"]}


def test_every_module_is_strictly_typed_and_the_core_knows_no_browser(tools):
    run("npm", "run", "--silent", "check", cwd=tools)


def test_the_types_are_those_of_the_modules(tools, static):
    kept = static / "types"
    shipped = {path.name: path.read_text("utf-8") for path in kept.iterdir()}
    shutil.rmtree(kept)
    run("npm", "run", "--silent", "types", cwd=tools)
    made = {path.name: path.read_text("utf-8") for path in kept.iterdir()}
    assert made == shipped, "run `npm ci && npm run types` in tests/js"


def test_the_files_are_formatted(tools):
    paths = [*sorted(STATIC.glob("*.js")), *sorted(JS.glob("*.mjs"))]
    run("npm", "run", "--silent", "format", "--", "--check", *paths, cwd=tools)


def test_the_package_is_well_formed(tools, static):
    run(tools / "node_modules" / ".bin" / "publint", "--strict", cwd=static)


def test_the_package_has_the_version_of_the_server():
    assert json.loads((STATIC / "package.json").read_text("utf-8"))["version"] == abr_tts.__version__


def test_the_tarball_holds_modules_types_the_decoder_and_the_licences(tarball):
    _, files = tarball
    shipped = {path.name for path in STATIC.glob("*.js")}
    assert shipped | {f"types/{name.replace('.js', '.d.ts')}" for name in shipped} <= files
    assert {"opus.wasm", "LICENSE", "opus.LICENSE.txt", "README.md", "package.json"} <= files
    assert not any(name.endswith((".html", ".css", ".test.mjs")) for name in files)


def test_it_installs_from_its_tarball_and_runs(tarball, tools, tmp_path):
    path, _ = tarball
    (tmp_path / "package.json").write_text('{"private": true, "type": "module"}', "utf-8")
    run("npm", "install", "--no-audit", "--no-fund", "--offline", path, cwd=tmp_path)
    (tmp_path / "use.js").write_text(USE, "utf-8")
    assert run("node", "use.js", cwd=tmp_path).split() == ["false", "0", "true"]
    (tmp_path / "use.ts").write_text(TYPED, "utf-8")
    settings = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022"]
    run(tools / "node_modules" / ".bin" / "tsc", *settings, "use.ts", cwd=tmp_path)
