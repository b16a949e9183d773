"""
What a `stream_start` asks for, held against what this server has. Each refusal is one error of
the tree; nothing is begun and nothing counted here.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...control.ladder import FULL, Rung
from ...engine.base import Voice
from ...engine.face import Speaking
from ...engine.text import pronounceable
from ...errors import EmptyText, NoCommonFormat, Unsupported
from ...stream.terms import Terms
from ...wire.messages import Hello, StreamStart
from ..access.auth import Caller
from ..rollout.policies import Policies

STREAM, WHOLE = MODES = ("stream", "whole")
"""How a request may want its speech: to be heard as it is made, or to be kept."""

VOICE_CHARS = 200
"""Characters by whose script a voice is chosen: those of the first clause. A book is not read for it."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a request gets: the voice of its first clause, the terms of the stream, what it begins with."""

    voice: Voice
    terms: Terms
    first: Rung


def receive(
    request: StreamStart, hello: Hello, pool: Speaking, policies: Policies, caller: Caller
) -> Accepted:
    """
    Args:
        request: as it came.
        hello: of its connection.
        pool: the engine, started.
        policies: of the server.
        caller: who asks.

    Raises:
        EmptyText, Unsupported, UnknownPolicy, UnknownVoice, UnknownRung, NoCommonFormat
    """
    if not request.open and not pronounceable(request.text):
        raise EmptyText("there is nothing to pronounce in the text")
    if request.mode not in MODES:
        raise Unsupported(f"no mode {request.mode!r}; there is {', '.join(MODES)}", modes=list(MODES))
    if request.instruct and not pool.abilities.instructs:
        raise Unsupported(f"this server's engine, {pool.abilities.engine}, cannot be told how to speak")
    policy = policies.choose(request.policy, caller)
    voice = pool.choose(request.voice, request.language, request.text[:VOICE_CHARS])
    codecs = set(hello.codecs) if request.formats is None else set(hello.codecs) & set(request.formats)
    listener = tuple(sorted(codecs)), voice.sample_rate, hello.level
    if request.rung is None:
        terms = Terms(*listener, policy=policy)
        if request.mode == WHOLE:
            terms = Terms(*listener, rung=terms.best)
        return Accepted(voice, terms, terms.first)
    rung = FULL[request.rung]
    if rung.codec not in codecs:
        raise NoCommonFormat(f"the client does not decode {rung.codec}, which {rung.name} is")
    return Accepted(voice, Terms(*listener, rung=rung), rung)
