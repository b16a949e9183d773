"""The log: lines for people, or one JSON object a line with which connection and stream it is about."""

import io
import json
import logging

import pytest

from abr_tts.server.config import LogSettings
from abr_tts.server.watching.logs import JsonLines, ids, of_session, set_up
from abr_tts.wire import messages as m

from .harness import eventually, peer, serving

STREAM = "0123456789abcdef"


@pytest.fixture
def logged():
    """Log into memory in either form; what the test's own runner had is there again afterwards."""
    root = logging.getLogger()
    kept, level, out = root.handlers[:], root.level, io.StringIO()
    root.handlers = []

    def begin(**fields):
        set_up(LogSettings(**fields), out)
        return out

    yield begin
    root.handlers, root.level = kept, level


def lines(out: io.StringIO) -> list[dict]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_line_is_one_json_object_with_when_how_grave_who_and_what(logged):
    out = logged(format="json")
    logging.getLogger("abr_tts.server.x").warning("%d streams\nin two lines: ü", 3)
    (told,) = lines(out)
    assert told["message"] == "3 streams\nin two lines: ü" and out.getvalue().isascii()
    assert (told["level"], told["logger"]) == ("warning", "abr_tts.server.x")
    assert told["time"].endswith("Z") and len(told["time"]) == len("2026-01-01T00:00:00.000Z")
    assert told.keys() == {"time", "level", "logger", "message"}


def test_a_traceback_is_one_field_of_the_line(logged):
    out = logged(format="json")
    try:
        raise ValueError("with\nlines")
    except ValueError:
        logging.getLogger("abr_tts").exception("failed")
    (told,) = lines(out)
    assert told["stack"].startswith("Traceback") and told["stack"].endswith("ValueError: with\nlines")


def test_a_line_tells_its_connection_and_a_short_id_of_its_stream(logged):
    out = logged(format="json")
    log = logging.getLogger("abr_tts")
    with of_session("s1"):
        log.info("both", extra=ids(STREAM))
        log.info("another's", extra=ids(STREAM, "s2"))
    log.info("neither", extra=ids(None))
    told = [(one.get("session"), one.get("stream")) for one in lines(out)]
    assert told == [("s1", STREAM[:8]), ("s2", STREAM[:8]), (None, None)]


def test_the_level_that_is_set_binds_and_text_is_for_people(logged):
    out = logged(level="warning")
    logging.getLogger("abr_tts").info("no")
    logging.getLogger("abr_tts").warning("yes")
    (line,) = out.getvalue().splitlines()
    assert line.endswith("WARNING abr_tts: yes")


def test_what_is_no_json_is_told_all_the_same():
    record = logging.LogRecord("abr_tts", logging.INFO, "", 0, "%s", (object(),), None)
    assert "object" in json.loads(JsonLines().format(record))["message"]
    record = logging.LogRecord("abr_tts", logging.INFO, "", 0, "half a pair \ud800", (), None)
    line = JsonLines().format(record)
    assert line.encode("ascii") and json.loads(line)["message"].startswith("half a pair")


async def test_a_server_tells_of_each_stream_with_its_ids_and_never_its_text(logged):
    out = logged(level="debug", format="json")
    async with serving() as server, peer(server.url) as client:
        started = await client.start("mellifluous", open=True, rung="opus24")
        await client.send(m.Cancel(started.stream))
        await client.first(m.StreamEnd, stream=started.stream)
        welcome = (await client.first(m.Welcome)).session
        await eventually(lambda: "is over" in out.getvalue())
    told = [one for one in lines(out) if one.get("stream")]
    assert {(one["session"], one["stream"]) for one in told} == {(welcome, started.stream_id[:8])}
    assert any(one["message"] == "the stream is over: cancelled" for one in told)
    assert any(
        one["session"] == welcome and "opens" in one["message"] for one in lines(out) if "session" in one
    )
    assert "mellifluous" not in out.getvalue() and started.stream_id not in out.getvalue()
