"""
What is said at the DashScope door, as records that check themselves: three actions in, four events out.

The names and bounds are those of Alibaba's own reference ("CosyVoice client events", "server events") and of
its Python SDK, dashscope 2.0. The same records give the schemas of /asyncapi.json. A field that no record
names is ignored, as the hosted service ignores it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field

TaskId: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=128, pattern="^[!-~]+$", description="A UUID by custom; any word.")
]
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]

Format: TypeAlias = Literal["Default", "pcm", "wav", "mp3", "opus"]
SampleRate: TypeAlias = Literal[0, 8000, 16000, 22050, 24000, 44100, 48000]


class HotFix(Struct, frozen=True):
    """Pronunciations and replacements; there is no engine that takes them, so that any is refused."""

    pronunciation: list[dict[str, str]] | None = None
    replace: list[dict[str, str]] | None = None


class Parameters(Struct, frozen=True):
    """How to speak, and in what format."""

    voice: Name | None = None
    format: Annotated[Format, Meta(description="`Default` is mp3.")] = "Default"
    sample_rate: Annotated[SampleRate, Meta(description="Hz; 0 is 22 050.")] = 0
    bit_rate: Annotated[int, Meta(ge=0, le=510, description="kbit/s of opus; 0 is the default, 32.")] = 0
    volume: Annotated[int, Meta(ge=0, le=100, description="50 is the engine's own, 100 twice as loud.")] = 50
    rate: Annotated[float, Meta(ge=0.5, le=2, description="Speed; 1 is the voice's own.")] = 1.0
    pitch: Annotated[float, Meta(ge=0.5, le=2, description="Only 1, the voice's own, is supported.")] = 1.0
    text_type: Annotated[Literal["PlainText", "SSML"], Meta(description="SSML is not supported.")] = (
        "PlainText"
    )
    enable_ssml: Annotated[bool, Meta(description="No effect: text that is SSML is refused.")] = False
    seed: Annotated[int, Meta(ge=0, le=65535, description="No effect: no engine has one.")] = 0
    type: Annotated[int, Meta(description="No effect.")] = 0
    instruction: Annotated[
        Annotated[str, Meta(max_length=500)] | None,
        Meta(description="How to speak, in words, for engines that follow them."),
    ] = None
    language_hints: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=35)]] | None,
        Meta(description="The first is the language of the text; others have no effect."),
    ] = None
    word_timestamp_enabled: Annotated[bool, Meta(description="Not supported.")] = False
    phoneme_timestamp_enabled: Annotated[bool, Meta(description="Not supported.")] = False
    enable_markdown_filter: Annotated[bool, Meta(description="Not supported.")] = False
    hot_fix: Annotated[HotFix | None, Meta(description="Not supported.")] = None


# ---------------------------------------------------------------- from the client


class RunHeader(Struct, frozen=True):
    """Begin a task."""

    action: Literal["run-task"]
    task_id: TaskId
    streaming: Literal["duplex"] = "duplex"


class RunInput(Struct, frozen=True):
    """Text may come with the task already."""

    text: str | None = None


class RunPayload(Struct, frozen=True):
    """What kind of task; `model` may be any, since the server has one engine."""

    task_group: Literal["audio"]
    task: Literal["tts"]
    function: Literal["SpeechSynthesizer"]
    model: Name
    parameters: Parameters = Parameters()
    input: RunInput = RunInput()


class RunTask(Struct, frozen=True):
    """Begin to speak. A task that still runs on this connection is aborted."""

    header: RunHeader
    payload: RunPayload


class ContinueHeader(Struct, frozen=True):
    """More for a task."""

    action: Literal["continue-task"]
    task_id: TaskId


class ContinueInput(Struct, frozen=True):
    """More text, or `flush`: speak what is held back until its sentence is whole."""

    text: str | None = None
    flush: bool = False


class ContinuePayload(Struct, frozen=True):
    """What comes."""

    input: ContinueInput


class ContinueTask(Struct, frozen=True):
    """More text of the task."""

    header: ContinueHeader
    payload: ContinuePayload


class FinishHeader(Struct, frozen=True):
    """The end of a task's text."""

    action: Literal["finish-task"]
    task_id: TaskId


class FinishInput(Struct, frozen=True):
    """With `cancel` nothing more is spoken or sent."""

    directive: Literal["cancel"] | None = None


class FinishPayload(Struct, frozen=True):
    """How it ends."""

    input: FinishInput = FinishInput()


class FinishTask(Struct, frozen=True):
    """No more text comes; `task-finished` follows once all is spoken and sent."""

    header: FinishHeader
    payload: FinishPayload = FinishPayload()


Action: TypeAlias = RunTask | ContinueTask | FinishTask
ACTIONS: dict[str, type[RunTask] | type[ContinueTask] | type[FinishTask]] = {
    "run-task": RunTask,
    "continue-task": ContinueTask,
    "finish-task": FinishTask,
}
"""header.action → the record."""


# ---------------------------------------------------------------- to the client


class Usage(Struct, frozen=True):
    """What the task has cost so far."""

    characters: Annotated[int, Meta(ge=0, description="Of the text; a Han character counts as two.")]


class Sentence(Struct, frozen=True):
    """Which sentence: the clauses that the engine speaks, counted from 0."""

    index: Annotated[int, Meta(ge=0)]
    words: Annotated[
        list[dict[str, Any]], Meta(max_length=0, description="Always empty: engines tell no times of words.")
    ] = field(default_factory=list)


Kind: TypeAlias = Literal["sentence-begin", "sentence-synthesis", "sentence-end"]


class Output(Struct, frozen=True):
    """
    Part of the result. `sentence-synthesis` is followed by exactly one binary message: the audio.
    """

    type: Kind
    sentence: Sentence
    original_text: str | UnsetType = UNSET
    """Of a begin and an end."""


class StartedHeader(Struct, frozen=True):
    """A task has begun."""

    task_id: str
    event: Literal["task-started"] = "task-started"
    attributes: dict[str, Any] = field(default_factory=dict)


class Nothing(Struct, frozen=True):
    """An empty object."""


class TaskStarted(Struct, frozen=True):
    """Text may come."""

    header: StartedHeader
    payload: Nothing = Nothing()


class ResultHeader(Struct, frozen=True):
    """Part of a task's result."""

    task_id: str
    event: Literal["result-generated"] = "result-generated"
    attributes: dict[str, Any] = field(default_factory=dict)


class ResultPayload(Struct, frozen=True):
    """What there is; `usage` with the end of a sentence."""

    output: Output
    usage: Usage | UnsetType = UNSET


class ResultGenerated(Struct, frozen=True):
    """A sentence begins, has audio, or ends."""

    header: ResultHeader
    payload: ResultPayload


class FinishedHeader(Struct, frozen=True):
    """A task is over."""

    task_id: str
    event: Literal["task-finished"] = "task-finished"
    attributes: dict[str, Any] = field(default_factory=dict)


class FinishedOutput(Struct, frozen=True):
    """Nothing more."""

    sentence: dict[str, list[Any]] = field(default_factory=lambda: {"words": []})


class FinishedPayload(Struct, frozen=True):
    """What the task has cost."""

    usage: Usage
    output: FinishedOutput = field(default_factory=FinishedOutput)


class TaskFinished(Struct, frozen=True):
    """All is sent, or the task was cancelled. The connection is free for another task."""

    header: FinishedHeader
    payload: FinishedPayload


class FailedHeader(Struct, frozen=True):
    """A task has failed."""

    task_id: str
    error_code: Annotated[str, Meta(description="InvalidParameter, Throttling, InternalError and others.")]
    error_message: str
    event: Literal["task-failed"] = "task-failed"
    attributes: dict[str, Any] = field(default_factory=dict)


class TaskFailed(Struct, frozen=True):
    """A fault, in code and words; the connection is closed after it."""

    header: FailedHeader
    payload: Nothing = Nothing()


Event: TypeAlias = TaskStarted | ResultGenerated | TaskFinished | TaskFailed
