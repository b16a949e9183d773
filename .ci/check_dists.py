"""
Fails unless a folder holds one wheel and one sdist with valid metadata and the right contents.

The wheel carries the package and nothing else; the sdist carries what is needed to test it.
"""

import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from packaging.metadata import Metadata

PACKAGE = "abr_tts"
PAGES = tuple(
    f"{PACKAGE}/web/static/{name}"
    for name in (
        "index.html",
        "ops.html",
        "favicon.svg",
        "player.js",
        "opus.wasm",
        "demo/main.js",
        "ops/main.js",
    )
)
"""Of what is served to browsers, one of each kind and folder."""

SDIST_NEEDS = (
    *PAGES, "abr_tts/py.typed", "protocol/SPEC.md", "tests/test_house.py", "tools/", "docs/", ".ci/run",
    "README.md", "LICENSE", "NOTICE", "CHANGELOG.md", "pyproject.toml", "PKG-INFO",
)  # fmt: skip
LICENCES = "Apache-2.0 AND BSD-3-Clause"
"""Ours, and that of libopus in opus.wasm."""

NEVER = ("__pycache__", ".pyc", ".wav", ".pem", ".hypothesis", ".venv", ".git/")


def wheel_complaints(names: Iterable[str]) -> list[str]:
    """What is in a wheel and should not be, and what should be and is not."""
    names = list(names)
    tops = {name.split("/")[0] for name in names}
    found = [f"wheel: {top}" for top in tops if top != PACKAGE and not top.endswith(".dist-info")]
    needs = (f"{PACKAGE}/__init__.py", f"{PACKAGE}/py.typed", *PAGES, "licenses/LICENSE", "licenses/NOTICE")
    found += [f"wheel lacks {need}" for need in needs if not any(name.endswith(need) for name in names)]
    return found + [f"wheel: {name}" for name in names if any(bad in name for bad in NEVER)]


def sdist_complaints(names: Iterable[str]) -> list[str]:
    """The same for an sdist, whose names begin with one folder."""
    inside = [name.partition("/")[2] for name in names]
    found = [f"sdist lacks {need}" for need in SDIST_NEEDS if not any(n.startswith(need) for n in inside)]
    return found + [f"sdist: {name}" for name in inside if any(bad in name for bad in NEVER)]


def metadata_complaints(text: bytes) -> list[str]:
    """Fields that the package index would refuse, or a licence that is not ours."""
    try:
        metadata = Metadata.from_email(text, validate=True)
    except ExceptionGroup as group:
        return [str(error) for error in group.exceptions]
    return [] if metadata.license_expression == LICENCES else ["the licence expression is missing"]


def main(folder: str) -> None:
    """Check the files of `folder`; leave with the complaints if there are any."""
    (wheel,), (sdist,) = Path(folder).glob("*.whl"), Path(folder).glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith(".dist-info/METADATA")))
    with tarfile.open(sdist) as archive:
        found = sdist_complaints(archive.getnames())
    found += wheel_complaints(names) + metadata_complaints(metadata)
    print(f"{wheel.name}: {len(names)} files; {sdist.name}")
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main(sys.argv[1])
