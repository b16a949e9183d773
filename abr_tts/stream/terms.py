"""
The terms of a stream: who listens, what speaks, and what decides for them.

A server makes the controller of a stream from them, a trace carries them, and a replay makes the
very same controller again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ..control.adaptive import Adaptive
from ..control.controller import Controller, FixedRung
from ..control.estimator import Estimate
from ..control.ladder import Rung
from ..control.policy import Policy
from ..control.policy_file import parse
from ..control.policy_text import as_text
from ..control.strong import Strong
from ..trace import digest


@dataclass(frozen=True, slots=True)
class Terms:
    """
    Args:
        codecs: that the listener decodes.
        rate: Hz of the engine.
        level: the listener's conformance.
        policy: how to adapt; None where the request fixed the rung.
        rung: that the request fixed; None where it adapts.
        remembered: what is known of the listener's link from an earlier stream, on the same clock.

    Raises:
        ValueError: neither a policy nor a rung, or both.
    """

    codecs: tuple[str, ...]
    rate: int
    level: int = 1
    policy: Policy | None = None
    rung: Rung | None = None
    remembered: Estimate | None = None

    def __post_init__(self) -> None:
        if (self.policy is None) == (self.rung is None):
            raise ValueError("a stream has either a policy or a rung")

    @property
    def first(self) -> Rung:
        """
        The rung that the stream is going to begin with: the fixed one, or the bank's.

        Raises:
            NoCommonFormat: the listener decodes nothing of the policy's ladder.
        """
        return self.rung if self.rung is not None else self._fitted().bank

    @property
    def best(self) -> Rung:
        """
        The rung that is worth most to this listener, of equals the cheaper; the fixed one, if there is one.

        Raises:
            NoCommonFormat: as `first`.
        """
        if self.rung is not None:
            return self.rung
        fitted = self._fitted()
        return max(fitted.rungs, key=lambda rung: (fitted.utility(rung), -rung.wire_kbps))

    def controller(self) -> Controller:
        """
        A new controller.

        Raises:
            NoCommonFormat: as `first`.
        """
        if self.rung is not None:
            return FixedRung(self.rung)
        policy = self._fitted()
        kind = Adaptive if policy.controller == "v1" else Strong
        return kind(policy, self.level, self.remembered)

    def _fitted(self) -> Policy:
        assert self.policy is not None, "checked when it was made"
        return self.policy.for_listener(self.codecs, self.rate, self.level)

    # ------------------------------------------------------------ in a trace

    def as_header(self) -> dict[str, Any]:
        """As a trace's header carries them; JSON values."""
        text = None if self.policy is None else as_text(self.policy)
        return {
            "rate": self.rate,
            "level": self.level,
            "codecs": list(self.codecs),
            "rung": None if self.rung is None else _given(self.rung),
            "remembered": None if self.remembered is None else asdict(self.remembered),
            "policy_sha256": None if text is None else digest(text),
            "policy": text,
        }

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> Terms:
        """
        The terms that a header carries.

        Raises:
            ConfigError: the policy is none that this version knows.
            TypeError, ValueError: a field that is no such thing.
        """
        policy, rung, remembered = header["policy"], header["rung"], header["remembered"]
        if rung is None and policy is None:
            raise ValueError("it names neither a policy nor a rung")
        return cls(
            tuple(header["codecs"]),
            header["rate"],
            header["level"],
            None if policy is None else parse(policy, "policy"),
            None if rung is None else Rung(**rung),
            None if remembered is None else Estimate(**remembered),
        )


def _given(rung: Rung) -> dict[str, Any]:
    """What a rung is made from; the rest follows."""
    return {item.name: getattr(rung, item.name) for item in fields(rung) if item.init}
