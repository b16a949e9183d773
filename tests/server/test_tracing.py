"""Spans of streams at a real collector over HTTP: what they tell, what not, and what a dead one costs."""

import contextlib
import subprocess
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from abr_tts.errors import ConfigError, MissingDependency
from abr_tts.server.config import load
from abr_tts.server.watching import tracing
from abr_tts.wire import messages as m

from .clips import conversion, messages, noise, pcm_packets
from .harness import peer, serving

pytest.importorskip("opentelemetry.sdk", reason="pip install '.[otel]'")
trace_service_pb2 = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACED = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
UNSAMPLED = {"traceparent": f"00-{TRACE}-{PARENT}-00"}


class Collector:
    """Takes spans as an OpenTelemetry collector does."""

    def __init__(self):
        bodies = self.bodies = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                bodies.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/traces"

    @property
    def spans(self):
        """(resource's attributes, span, its attributes) of all that came."""
        found = []
        for _, body in self.bodies:
            for of_resource in trace_service_pb2.ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in of_resource.scope_spans:
                    for span in scope.spans:
                        found.append((told(of_resource.resource), span, told(span)))
        return found


def told(holder):
    kinds = {"string_value": str, "int_value": int, "double_value": float}
    return {
        item.key: next(getattr(item.value, kind) for kind in kinds if item.value.HasField(kind))
        for item in holder.attributes
    }


@pytest.fixture
def collector():
    made = Collector()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


async def test_a_stream_is_one_span_in_the_trace_of_its_request_and_tells_no_word(collector):
    secret = "the quick brown fox"
    async with (
        serving(tracing__endpoint=collector.url, auth__keys=("key-of-anna-0123456789",)) as server,
        peer(server.url, headers=TRACED | {"Authorization": "Bearer key-of-anna-0123456789"}) as client,
    ):
        started = await client.start(secret, rung="pcm22")
        await client.whole_pcm(started.stream)
    ((resource, span, facts),) = collector.spans
    assert (resource["service.name"], span.name) == ("abr-tts", tracing.NAME)
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
    assert facts.pop("abr_tts.first_sound_ms") > 0
    assert facts.pop("abr_tts.played_s") == pytest.approx(len(secret) * 0.06, abs=0.1)
    assert facts == {
        "abr_tts.stream": started.stream_id[:8], "abr_tts.engine": "tone", "abr_tts.rung_first": "pcm22",
        "abr_tts.policy": "fixed", "abr_tts.policy_version": "", "abr_tts.switches": 0, "abr_tts.stalls": 0,
        "abr_tts.stalled_ms": 0, "abr_tts.outcome": "done",
    }  # fmt: skip
    assert span.start_time_unix_nano < span.end_time_unix_nano and not span.status.code
    for path, body in collector.bodies:
        assert path == "/v1/traces"
        assert not any(word in body for word in (b"fox", b"anna", b"127.0.0.1", started.token.encode()))


async def test_a_cancel_is_no_fault_and_an_error_is_one_by_its_code(collector):
    async with serving(tracing__endpoint=collector.url) as server, peer(server.url) as client:
        first = await client.start("", open=True)
        await client.send(m.Cancel(first.stream))
        await client.first(m.StreamEnd)
        second = await client.start("one. ", open=True)
        await client.send(m.TextEnd(second.stream), m.Text(second.stream, "two."))
        await client.first(m.Error)
    faults = {facts["abr_tts.outcome"]: span.status.code for _, span, facts in collector.spans}
    assert faults == {"cancelled": 0, "text_after_end": 2}


async def test_stalls_that_were_reported_are_told(collector):
    async with serving(tracing__endpoint=collector.url) as server, peer(server.url, hints=False) as client:
        started = await client.start("x" * 20)
        await client.first(m.Audio)
        await client.send(m.BitRateHint(started.stream, 0, 0, 0, stalls=2, stall_ms=700))
        await client.send(m.Ping(1))
        await client.first(m.Pong)
    ((_, span, facts),) = collector.spans
    assert (facts["abr_tts.stalls"], facts["abr_tts.stalled_ms"]) == (2, 700)
    assert (facts["abr_tts.policy"], facts["abr_tts.outcome"]) == ("default", "lost")
    assert len(facts["abr_tts.policy_version"]) >= 8
    assert not span.parent_span_id


async def test_speech_that_is_made_of_a_clip_is_of_the_same_trace(collector):
    options = {"rate": 22_050, "converts": True}
    async with (
        serving(tracing__endpoint=collector.url, engine__options=options) as server,
        peer(server.url, headers=TRACED) as client,
    ):
        request = conversion(rung="pcm22")
        await client.send(request)
        started = await client.first(m.StreamStarted, stream_id=request.stream_id)
        await client.send(
            *messages(started.stream, pcm_packets(noise(20), 16_000)), m.TextEnd(started.stream)
        )
        await client.first(m.StreamEnd, stream=started.stream)
    ((_, span, _),) = collector.spans
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)


@pytest.mark.parametrize(
    ("headers", "spans"), [({}, 0), (TRACED, 1), (UNSAMPLED, 0), ({"traceparent": "x"}, 0)]
)
async def test_of_strangers_the_share_that_is_set_is_traced_and_of_traces_what_they_say(
    collector, headers, spans
):
    async with (
        serving(tracing__endpoint=collector.url, tracing__share=0.0) as server,
        peer(server.url, headers=headers) as client,
    ):
        await client.whole_pcm((await client.start("abc", rung="pcm22")).stream)
    assert len(collector.spans) == spans


async def test_a_collector_that_is_gone_costs_nobody_anything(collector):
    collector.server.server_close()
    async with serving(tracing__endpoint=collector.url) as server:
        async with peer(server.url) as client:
            for _ in range(3):
                await client.whole_pcm((await client.start("abc", rung="pcm22")).stream)
        begun = time.monotonic()
    assert time.monotonic() - begun < tracing.STOP_S + 4.0


def test_nothing_of_it_is_imported_while_it_is_off():
    code = (
        "import sys, abr_tts.server.app; from abr_tts.server.watching.tracing import OFF, make;"
        "from abr_tts.server.config import TracingSettings; assert make(TracingSettings(), 'x') is OFF;"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_packages_it_is_told_how_to_get_them(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    settings = load(overrides={"tracing.endpoint": "http://127.0.0.1:4318/v1/traces"}).tracing
    with pytest.raises(MissingDependency, match=r"pip install '\.\[otel\]'"):
        tracing.make(settings, "tone")


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [("endpoint", "127.0.0.1:4318", "http://"), ("share", 1.01, "share"), ("timeout_s", 0.05, "timeout_s")],
)
def test_a_setting_that_cannot_be_is_refused_by_name(setting, value, words):
    with pytest.raises(ConfigError, match=words):
        load(overrides={f"tracing.{setting}": value})
    good = {"endpoint": "https://collector.example/v1/traces", "share": 1.0, "timeout_s": 0.1}[setting]
    assert getattr(load(overrides={f"tracing.{setting}": good}).tracing, setting) == good


def test_off_does_nothing():
    with contextlib.ExitStack() as stack:
        stack.callback(tracing.OFF.stop)
        tracing.OFF.came(TRACED)
        assert tracing.OFF.begin(str(uuid.uuid4())).end("done", {"switches": 0}) is None
