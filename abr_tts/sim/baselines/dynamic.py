"""
The rule of dash.js: by rate while the buffer is small, BOLA while it is large (Spiteri, Sitaraman and
Sparacio, "From Theory to Practice: Improving Bitrate Adaptation in the DASH Reference Player", 2018).
"""

from __future__ import annotations

from ...control.controller import Reason
from ...control.ladder import Rung
from .ahead import Moment
from .bola import Bola
from .rate import RateEwma

SWITCH_S = 2.0
"""Seconds of buffer from which BOLA rules, if it asks for no less than the rate does; below half of them
the rate rules again, if BOLA asks for less (dash.js DynamicRule.js, where it is 10 s)."""


class Dynamic(Bola, RateEwma):
    """Both rules are asked; which one is believed is remembered."""

    _by_buffer = False

    def choose(self, moment: Moment) -> tuple[Rung, Reason]:
        """The rung of the rule in force."""
        buffer, rate = self.by_buffer(moment), self.by_rate(moment)
        asked, carried = buffer[0].wire_kbps, rate[0].wire_kbps
        if self._by_buffer:
            self._by_buffer = not (moment.held_s < SWITCH_S / 2 and asked < carried)
        else:
            self._by_buffer = moment.held_s >= SWITCH_S and asked >= carried
        return buffer if self._by_buffer else rate
