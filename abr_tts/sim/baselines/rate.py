"""
The rate rule: the best rung that the link carries, by a quick and a slow average of its rate.

As in shaka-player (lib/abr/simple_abr_manager.js): the smaller average rules, a part of it is left
free when going up, less of it when staying.
"""

from __future__ import annotations

from ...control.controller import Reason
from ...control.ladder import Rung
from .ahead import Ahead, Moment, fitting

UP_SHARE, STAY_SHARE = 0.6, 0.7
"""Of the rate, what a better rung may take, and what the present one may. shaka-player has 0.85 and 0.95
for buffers of 10 s and more; with seconds in hand the best of 0.35 to 0.85 and 0.6 to 0.95 on recorded
networks."""


class RateEwma(Ahead):
    """Follows the rate; the buffer is not looked at."""

    def choose(self, moment: Moment) -> tuple[Rung, Reason]:
        """The best rung that fits."""
        return self.by_rate(moment)

    def by_rate(self, moment: Moment) -> tuple[Rung, Reason]:
        """The rate rule, for others to fall back to; over an unknown link the policy's bank."""
        link, before = moment.link, moment.rung
        if not link.known:
            return before or self._policy.bank, Reason("unknown", "nothing is known of the link yet")
        rung = fitting(self.rungs, link.kbps * UP_SHARE)
        if before is not None and rung.wire_kbps < before.wire_kbps <= link.kbps * STAY_SHARE:
            rung = before
        return rung, Reason(
            "rate",
            f"the link carries {link.kbps:.0f} kbit/s; {rung.name} needs {rung.wire_kbps:.0f}",
            {"kbps": link.kbps, "need_kbps": rung.wire_kbps},
        )
