"""Links and observations for tests of controllers, in words and seconds."""

from abr_tts.control.controller import Layer, Observation
from abr_tts.control.estimator import Link
from abr_tts.control.ladder import FULL
from abr_tts.units import seconds_to_ticks

GOOD = Link(True, True, 2_000.0, 0.05, heard_bytes=5_000)


def link(kbps: float, **more) -> Link:
    return GOOD._replace(kbps=kbps, **more)


def frames(seconds: float) -> int:
    """Ticks of whole frames."""
    return round(seconds * 50) * 960


def seen(
    now=10.0, head=0.0, bank=0.0, ready=None, upgrade=0.0, rung=None, bank_rung="opus24", ended=False, **more
) -> Observation:
    """The listener at `head`, banked to `bank`, made to `ready`, upgraded to `upgrade` at `rung`; seconds."""
    layers = (
        Layer(frames(bank), FULL[bank_rung] if bank else None, frames(bank)),
        Layer(frames(upgrade), FULL[rung] if rung else None, frames(upgrade)),
    )
    ready = frames(bank if ready is None else ready)
    at = seconds_to_ticks(head)
    return Observation(now, ready, ended, at, more.pop("outstanding", 0), layers, head=at, **more)
