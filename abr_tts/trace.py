"""
Traces: what one stream core was told and what it decided, as JSON lines.

Lines in, lines out; whoever calls opens the files. A trace is enough to repeat every decision bit
for bit, so numbers are written as Python writes them, which reads back as the very same. Speech is
told as counts and packets as sizes: no text, no sound and no key is ever in a trace.

The first line is the header. Then come inputs (`"in"`, with `now`, seconds on the clock of whoever
drove the core), each followed by the outputs (`"out"`) that it led to; at the very end a line with
`"end"` says why there is no more. What may stand in a line is told by the tables below.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeAlias

VERSION = 1
"""Of this format; a reader refuses any other."""

MOST = 2**53 - 1
"""The largest whole number that is believed: every JSON reader holds it exactly."""

MOST_SAMPLES = 2**24
"""Of one chunk: 349 s at 48 kHz. A line that says more is not of a core, and would cost memory."""

MOST_SIZE = 16_384
"""Bytes of a packet, as on the wire (protocol/schema.json)."""

Record: TypeAlias = Mapping[str, Any]

NUMBER, WHOLE, COUNT, WORD, TRUTH, LIST, TABLE, ANY = (
    "number", "whole number", "whole number from 0", "text", "true or false", "list", "table", "value",
)  # fmt: skip
_IS: dict[str, Callable[[Any], bool]] = {
    NUMBER: lambda value: type(value) is float or type(value) is int,
    WHOLE: lambda value: type(value) is int and abs(value) <= MOST,
    COUNT: lambda value: type(value) is int and 0 <= value <= MOST,
    WORD: lambda value: type(value) is str,
    TRUTH: lambda value: type(value) is bool,
    LIST: lambda value: type(value) is list,
    TABLE: lambda value: type(value) is dict,
    ANY: lambda value: True,
}
"""What a field may hold, by the word that errors use."""

HEADER = {
    "trace": COUNT, "product": WORD, "now": NUMBER, "handle": COUNT, "rate": COUNT, "level": COUNT,
    "codecs": LIST, "limits": TABLE, "remembered": ANY, "rung": ANY, "policy": ANY, "policy_sha256": ANY,
}  # fmt: skip
"""The header. `policy` is the whole of it as TOML, null where the request fixed the `rung`."""

INPUTS: dict[str, dict[str, str]] = {
    "pcm": {"samples": COUNT},
    "mark": {"begin": COUNT, "end": COUNT},
    "clause_end": {},
    "pcm_end": {},
    "encoded": {"sizes": LIST},
    "sent": {"size": COUNT, "own": TRUTH},
    "hint": {"received": COUNT, "played": COUNT, "buffer_ms": COUNT, "rtt_ms": NUMBER},
    "kernel": {"unacked_bytes": COUNT, "user_bytes": COUNT, "min_rtt_ms": NUMBER},
    "received": {"total": COUNT},
    "pause": {},
    "resume": {},
    "cancel": {},
    "detach": {},
    "attach": {"handle": COUNT, "wanted": LIST, "played": COUNT, "remembered": ANY},
    "timer": {},
}
"""Inputs by name, and what stands beside `now`."""

HINT_MORE = {
    "loss": NUMBER, "jitter_ms": NUMBER, "goodput_kbps": NUMBER, "stalls": COUNT, "stall_ms": COUNT,
    "hidden": TRUTH, "save_data": TRUTH, "highest": LIST, "clamped": COUNT,
}  # fmt: skip
"""What a hint may say beside that: the rest of a report, where it is not the default."""

OUTPUTS: dict[str, dict[str, str]] = {
    "credit": {"clauses": COUNT},
    "encode": {"track": COUNT, "rank": COUNT, "rung": WORD, "pts": WHOLE, "frames": COUNT},
    "opened": {"track": COUNT, "rank": COUNT, "rung": WORD, "start": COUNT},
    "switched": {"track": COUNT, "rank": COUNT, "from": WORD, "to": WORD, "pts": COUNT, "length": COUNT},
    "decided": {"bank": WORD, "upgrade": ANY, "bank_reason": TABLE, "upgrade_reason": TABLE},
    "finished": {"length": COUNT},
    "drained": {},
    "clamped": {"fields": LIST},
}
"""Outputs by name. Messages are left out: each follows from a job, a mark or the end."""


class BadTrace(ValueError):
    """A line that is none of a trace; the sentence names source and line."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An input or output, and its line in the file, from 1."""

    line: int
    record: Record

    @property
    def is_input(self) -> bool:
        """Something that the core was told."""
        return "in" in self.record

    @property
    def kind(self) -> str:
        """Its name in `INPUTS` or `OUTPUTS`."""
        return str(self.record["in"] if self.is_input else self.record["out"])


@dataclass(frozen=True, slots=True)
class Trace:
    """
    A trace that was read.

    Args:
        source: its file, for errors.
        end: why there is no more, `""` if the recorder was cut off.
    """

    source: str
    header: Record
    entries: tuple[Entry, ...]
    end: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two traces part: the line in the first, the seconds since its start, and what is other."""

    line: int
    at_s: float
    sentence: str


# ---------------------------------------------------------------- writing


def line(record: Record) -> str:
    """One line, with its end, in ASCII. Floats read back as the very same."""
    return json.dumps(record, separators=(",", ":")) + "\n"


def digest(policy: str) -> str:
    """SHA-256 of a policy's text, as the header has it."""
    return hashlib.sha256(policy.encode()).hexdigest()


# ---------------------------------------------------------------- reading


def read(lines: Iterable[str], source: str) -> Trace:
    """
    Read a whole trace. A last line that is torn off is left out: its writer was killed.

    Args:
        lines: of the file.
        source: names it in errors.

    Raises:
        BadTrace: the first line that is none of a trace.
    """
    reader = _Reader(source)
    header: Record | None = None
    entries: list[Entry] = []
    end = ""
    for number, record in reader.records(lines):
        if header is None:
            header = reader.header(record)
        elif end:
            raise reader.fault("comes after the end")
        elif "end" in record and "in" not in record:
            end = str(record["end"])
        else:
            entries.append(Entry(number, reader.entry(record)))
    if header is None:
        raise BadTrace(f"{source}: there is nothing in it")
    return Trace(source, header, tuple(entries), end)


class _Reader:
    def __init__(self, source: str) -> None:
        self._source, self._number, self._now = source, 0, -math.inf

    def fault(self, words: str) -> BadTrace:
        """An error of the line at hand."""
        return BadTrace(f"{self._source}:{self._number}: {words}")

    def records(self, lines: Iterable[str]) -> Iterator[tuple[int, Record]]:
        for self._number, text in enumerate(lines, 1):
            try:
                record = json.loads(text)
            except (ValueError, RecursionError):
                if self._number > 1 and not text.endswith("\n"):
                    return
                raise self.fault("is not JSON") from None
            if type(record) is not dict:
                raise self.fault("is not a JSON object")
            yield self._number, record

    def header(self, record: Record) -> Record:
        if "trace" not in record:
            raise self.fault("is not the header of a trace")
        if record["trace"] != VERSION:
            raise self.fault(f"is of version {record['trace']!r}; this program reads version {VERSION}")
        self._check(record, HEADER, "the header")
        policy = record["policy"]
        if policy is not None and (type(policy) is not str or digest(policy) != record["policy_sha256"]):
            raise self.fault("the policy is not the one that was recorded: its hash is another")
        self._now = record["now"]
        return record

    def entry(self, record: Record) -> Record:
        direction, table = ("in", INPUTS) if "in" in record else ("out", OUTPUTS)
        kind = record.get(direction)
        fields = table.get(kind) if type(kind) is str else None
        if fields is None:
            raise self.fault(f"is neither an input nor an output that is known: {kind!r}")
        self._check(record, fields, str(kind))
        if direction == "in":
            self._check(record, {"now": NUMBER}, str(kind))
            if not self._now <= record["now"] < math.inf:
                raise self.fault(f"time goes back from {self._now} to {record['now']}")
            self._now = record["now"]
            self._check_input(record)
        return record

    def _check(self, record: Record, fields: Mapping[str, str], name: str) -> None:
        for field, wanted in fields.items():
            if field not in record:
                raise self.fault(f"{name} has no {field}")
            if not _IS[wanted](record[field]):
                raise self.fault(f"{field} of {name} must be a {wanted}, not {record[field]!r:.80}")

    def _check_input(self, record: Record) -> None:
        if record["in"] == "pcm" and record["samples"] > MOST_SAMPLES:
            raise self.fault(f"samples of pcm must be at most {MOST_SAMPLES}")
        if record["in"] == "encoded" and not all(
            type(size) is int and 0 <= size <= MOST_SIZE for size in record["sizes"]
        ):
            raise self.fault(f"sizes of encoded must be whole numbers from 0 to {MOST_SIZE}")
        if record["in"] == "hint":
            more = {field: wanted for field, wanted in HINT_MORE.items() if field in record}
            self._check(record, more, "hint")


# ---------------------------------------------------------------- comparing


def compare(recorded: Trace, replayed: Trace) -> Difference | None:
    """
    The first place where the second is not the first, bit for bit; None where there is none.

    A trace may end with any line, since recorders end when their streams do; so what comes beyond its
    last one is no difference.
    """
    start = at = float(recorded.header["now"])
    for then, now in zip_longest(recorded.entries, replayed.entries):
        if then is None:
            break
        if then.is_input:
            at = then.record["now"]
        if now is None or not _same(then.record, now.record):
            return Difference(then.line, at - start, _in_words(then, now))
    return None


def _same(one: Any, other: Any) -> bool:
    """Equal in kind and in every bit: 1, 1.0 and true are three things; NaN is NaN."""
    if type(one) is not type(other):
        return False
    if type(one) is dict:
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if type(one) is list:
        return len(one) == len(other) and all(map(_same, one, other))
    return one.hex() == other.hex() if type(one) is float else bool(one == other)


def _in_words(then: Entry, now: Entry | None) -> str:
    if now is None or (then.is_input, then.kind) != (now.is_input, now.kind):
        return f"recorded {_told(then)}, replayed {_told(now)}"
    keys = [*then.record, *(key for key in now.record if key not in then.record)]
    parts = [
        f"{key} was {_value(then.record, key)} and is {_value(now.record, key)}"
        for key in keys
        if key not in then.record or key not in now.record or not _same(then.record[key], now.record[key])
    ]
    return f"{then.kind}: {', '.join(parts)}"


def _told(entry: Entry | None) -> str:
    if entry is None:
        return "nothing"
    fields = ", ".join(f"{k} {v}" for k, v in entry.record.items() if k not in ("in", "out"))
    return f"{entry.kind} ({fields})" if fields else entry.kind


def _value(record: Record, key: str) -> str:
    return json.dumps(record[key], ensure_ascii=False) if key in record else "absent"
