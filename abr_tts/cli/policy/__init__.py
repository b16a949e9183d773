"""
`abr-tts policy`: what a policy says, what it will do on recorded networks, how to make it better, and
which one a running server has in use.

One module a verb; each adds its own arguments. What they share (contenders, networks, processes) stands
in modules of its own.
"""

from __future__ import annotations

from typing import Any

from .. import rollback
from . import diff, look, simulate, tune

VERBS = (look, simulate, diff, tune, rollback)
"""Modules with `add(verbs)`."""


def add(subparsers: Any) -> None:
    """Declare the command and its verbs."""
    parser = subparsers.add_parser(
        "policy",
        help="show, check, simulate, compare and tune policies, and roll them out",
        description="A policy says how streams adapt: the ladder, and the numbers behind each decision.",
    )
    verbs = parser.add_subparsers(metavar="verb", required=True)
    for verb in VERBS:
        verb.add(verbs)
