"""
Build abr_tts/web/static/opus.wasm: libopus' decoder for browsers, the same bytes each time.

    python tools/opus_wasm/build.py [--source opus_1.6.1.orig.tar.xz]
        [--check | --output FILE] [--flag=-O3 …]

Without `--source` apt fetches Debian's source package (from `sid`, into a temporary folder; nothing of
the machine's apt is changed). Needs Debian's clang-19, lld-19 and wasi-libc, whose headers alone are
used. Prints the compiler, the sizes and the SHA-256; `--check` writes nothing and fails unless the
committed file is equal.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sources import ARCHIVE, ARCHIVE_SHA256, COMPILE, FILES, LINK, MACHINE, OURS, VERSION

HERE = Path(__file__).parent
STATIC = HERE.parents[1] / "abr_tts" / "web" / "static"
WASM = STATIC / "opus.wasm"
LICENCE = STATIC / "opus.LICENSE.txt"
SUMS = HERE / "SHA256SUMS"

CLANG, LINKER = "clang-19", "wasm-ld-19"
"""In Debian 12 and 13. Another compiler makes other bytes, of the same sound."""

GZIP_LIMIT = 65_000
"""Bytes that the module may cost a page, compressed as a web server does (gzip -9)."""

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
DEB_SRC = f"deb-src [signed-by={KEYS}] http://deb.debian.org/debian sid main\n"


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """What a command printed; SystemExit with all it said when it fails."""
    try:
        done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True)
    except FileNotFoundError:
        sys.exit(f"{command[0]} is not installed: apt-get install clang-19 lld-19 wasi-libc")
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def fetch(folder: Path) -> Path:
    """Debian's source package by apt, which checks its signature; the archive's path."""
    (folder / "lists" / "partial").mkdir(parents=True)
    (folder / "sources.list").write_text(DEB_SRC)
    apt = ["apt-get", "-qq"]
    for option in (
        f"Dir::Etc::sourcelist={folder}/sources.list",
        "Dir::Etc::sourceparts=-",
        f"Dir::State::lists={folder}/lists",
        f"Dir::Cache={folder}",
        "APT::Sandbox::User=root",
    ):
        apt += ["-o", option]
    run(*apt, "update")
    run(*apt, "source", "--download-only", f"opus={VERSION}-1", cwd=folder)
    return folder / ARCHIVE


def unpack(archive: Path, folder: Path) -> Path:
    """The root of libopus' tree, from an archive with the right SHA-256."""
    found = sha256(archive.read_bytes())
    if found != ARCHIVE_SHA256:
        sys.exit(f"{archive} is not {ARCHIVE}: its SHA-256 is {found}, not {ARCHIVE_SHA256}")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / f"opus-{VERSION}"


def compile_all(root: Path, folder: Path, extra: Iterable[str]) -> list[Path]:
    """Objects of libopus and of ours, in the order of the lists, so that the linker's input is fixed."""
    include = [f"-I{root / name}" for name in ("include", "celt", "silk")]
    flags = [*MACHINE, *COMPILE, *extra, *include]

    def one(job: tuple[str, Path]) -> Path:
        name, source = job
        target = folder / f"{name.replace('/', '_')}.o"
        own = ["-fno-builtin"] if name == "libc.c" else []
        run(CLANG, *flags, *own, "-c", source, "-o", target)
        return target

    jobs = [(name, root / name) for name in FILES] + [(name, HERE / name) for name in OURS]
    with ThreadPoolExecutor() as pool:
        return list(pool.map(one, jobs))


def build(archive: Path, folder: Path, extra: Iterable[str]) -> tuple[bytes, bytes]:
    """The module and libopus' licence."""
    root = unpack(archive, folder)
    objects = compile_all(root, folder, extra)
    target = folder / "opus.wasm"
    run(LINKER, *LINK, "-o", target, *objects)
    return target.read_bytes(), (root / "COPYING").read_bytes()


def packed_size(module: bytes) -> int:
    """Bytes after gzip -9."""
    return len(gzip.compress(module, 9))


def sha256(data: bytes) -> str:
    """In hex."""
    return hashlib.sha256(data).hexdigest()


def report(module: bytes) -> None:
    """Print what was made by what."""
    print(run(CLANG, "--version").splitlines()[0], "·", run(LINKER, "--version").strip())
    print(f"libopus {VERSION}: {len(module)} bytes, {packed_size(module)} after gzip -9")
    print(f"SHA-256 {sha256(module)}")


def main() -> None:
    """Builds, and writes or compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--source", type=Path, help=f"{ARCHIVE}, already here")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--check", action="store_true", help="compare with the committed file, write nothing")
    where.add_argument("--output", type=Path, help="write the module there, of any size, and nothing else")
    parser.add_argument(
        "--flag", action="append", default=[], help="one more for the compiler, as --flag=-O3"
    )
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        module, licence = build(chosen.source or fetch(folder), folder, chosen.flag)
    report(module)
    if chosen.output:
        chosen.output.write_bytes(module)
    elif packed_size(module) > GZIP_LIMIT:
        sys.exit(f"more than {GZIP_LIMIT} bytes after gzip")
    elif chosen.check:
        if module != WASM.read_bytes():
            sys.exit(f"{WASM} differs from what was built")
    else:
        WASM.write_bytes(module)
        LICENCE.write_bytes(licence)
        SUMS.write_text("".join(f"{sha256(path.read_bytes())}  {path.name}\n" for path in (WASM, LICENCE)))


if __name__ == "__main__":
    main()
