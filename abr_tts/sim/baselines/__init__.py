"""
What a policy must beat: the rules of the literature, and rungs that never change.

Each is a controller like the product's own, in its strongest honest form: constants fitted to
utterances of seconds, the product's estimate of the link. One track, sent ahead, nothing twice.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import partial

from ...control.controller import Controller, FixedRung
from ...control.estimator import Estimate
from ...control.ladder import FULL
from ...control.policy import Policy
from ...errors import ConfigError
from ..arms import Arm
from .bba import Bba
from .bola import Bola
from .dynamic import Dynamic
from .mpc import Mpc
from .rate import RateEwma


def fixed(rung: str, policy: Policy, remembered: Estimate | None = None) -> Controller:
    """One rung of the full ladder, sent as far ahead as the engine and the link allow."""
    return FixedRung(FULL[rung])


BASELINES: Mapping[str, Arm] = {
    **{f"fixed_{rung.name}": partial(fixed, rung.name) for rung in FULL.rungs},
    "rate_ewma": RateEwma,
    "bba": Bba,
    "bola": Bola,
    "dynamic": Dynamic,
    "mpc": Mpc,
}
"""By name."""

USUAL = ("fixed_opus24", "fixed_opus32", "fixed_pcm22", "rate_ewma", "bba", "bola", "dynamic", "mpc")
"""What a policy is compared with unless something else is asked for."""


def baseline(name: str) -> Arm:
    """
    The baseline called `name`.

    Raises:
        ConfigError: there is none; with near names.
    """
    try:
        return BASELINES[name]
    except KeyError:
        near = difflib.get_close_matches(name, BASELINES, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(BASELINES)}"
        raise ConfigError(f"no baseline {name!r}; {hint}") from None


__all__ = ["BASELINES", "USUAL", "baseline", "fixed"]
