import pytest

from abr_tts.errors import Busy, DuplicateStream, Overloaded
from abr_tts.server.config import LimitSettings
from abr_tts.server.load.limits import Admission, StreamIds

READY = {"workers_ready": 1, "clauses_waiting": 0}


def test_an_id_in_use_and_one_used_lately_are_refused():
    ids = StreamIds(capacity=10, keep_s=60.0)
    ids.claim("a", 0.0)
    with pytest.raises(DuplicateStream, match="being spoken"):
        ids.claim("a", 0.0)
    ids.end("a", 100.0)
    with pytest.raises(DuplicateStream, match="spoken already"):
        ids.claim("a", 159.9)
    ids.claim("a", 160.0)


def test_a_living_id_never_expires():
    ids = StreamIds(capacity=1, keep_s=1.0)
    ids.claim("a", 0.0)
    with pytest.raises(DuplicateStream):
        ids.claim("a", 1e9)


def test_past_ids_are_bounded_and_the_oldest_go_first():
    ids = StreamIds(capacity=3, keep_s=1e6)
    for name in "abcd":
        ids.claim(name, 0.0)
        ids.end(name, 0.0)
    assert len(ids) == 3
    ids.claim("a", 0.0)
    with pytest.raises(DuplicateStream):
        ids.claim("b", 0.0)


def test_connections_up_to_the_limit_and_not_one_more():
    admission = Admission(LimitSettings(connections=2, retry_after_s=3.0))
    admission.connect()
    admission.connect()
    with pytest.raises(Overloaded) as caught:
        admission.connect()
    assert caught.value.retry_after == 3.0
    admission.disconnect()
    admission.connect()


@pytest.mark.parametrize(
    ("stats", "words"),
    [
        ({"workers_ready": 0, "clauses_waiting": 0}, "no engine is ready"),
        ({"workers_ready": 1, "clauses_waiting": 4}, "4 clauses wait"),
    ],
)
def test_a_stream_is_told_to_come_back_while_no_engine_is_free_for_it(stats, words):
    admission = Admission(LimitSettings(waiting_clauses=3, retry_after_s=2.0))
    with pytest.raises(Busy, match=words) as caught:
        admission.start(**stats)
    assert caught.value.retry_after == 2.0
    assert admission.streams == 0


def test_streams_up_to_the_limit_and_not_one_more_and_the_last_one_is_told_of():
    idle = []
    admission = Admission(LimitSettings(streams=2), on_idle=lambda: idle.append(admission.streams))
    admission.start(**READY)
    admission.start(workers_ready=1, clauses_waiting=64)
    with pytest.raises(Busy, match="2 streams already"):
        admission.start(**READY)
    admission.finish()
    assert idle == []
    admission.finish()
    assert idle == [0]
