"""A speech of a door is the native one: every sample, every limit, and an engine that stops when told."""

import asyncio

import numpy as np
import pytest

from abr_tts.engine import tone
from abr_tts.errors import (
    BadField,
    Busy,
    EmptyText,
    EngineError,
    ShuttingDown,
    TextTooLong,
    Unauthorized,
    UnknownVoice,
    Unsupported,
)
from abr_tts.server.doors.asking import Ask
from abr_tts.stream.pacer import KernelSample
from abr_tts.units import FRAME_TICKS

from ..harness import WAIT_S, eventually, peer
from .world import CLAUSES, SAID_S, SAYING, counted, packets_of, samples_of, spoken, visiting


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 24_000, 44_100, 48_000])
async def test_every_sample_comes_once_at_the_rate_of_any_engine(rate):
    async with visiting(engine__options={"rate": rate}) as (_, visit):
        heard = await spoken(visit, text="One sentence alone.")
        there = tone.expected("One sentence alone.", options=tone.Options(rate=rate))
        assert np.array_equal(heard, there)


async def test_it_is_what_the_native_door_sends():
    async with visiting() as (server, visit):
        heard = await spoken(visit, text=SAYING)
        async with peer(server.url) as client:
            started = await client.start(SAYING, rung="pcm22")
            assert np.array_equal(heard, await client.whole_pcm(started.stream))


async def test_text_may_come_piece_by_piece():
    async with visiting() as (_, visit):
        whole = await spoken(visit, text=SAYING)
        with visit.open(Ask(open=True)) as speech:
            for at in range(0, len(SAYING), 7):
                speech.add_text(SAYING[at : at + 7])
            speech.end_text()
            assert np.array_equal(await samples_of(speech), whole)


async def test_marks_say_where_clauses_begin():
    async with visiting() as (_, visit):
        with visit.open(Ask(SAYING)) as speech:
            marks = [mark async for piece in speech for mark in piece.marks]
    assert tuple(SAYING[mark.begin : mark.end].strip() for mark in marks) == CLAUSES
    assert marks[0].pts == 0 < marks[1].pts < marks[2].pts


async def test_whoever_does_not_ask_for_more_stops_the_engine():
    async with visiting(stream__max_ahead_s=1.0) as (server, visit):
        with visit.open(Ask(". ".join(["Forty characters take over two seconds"] * 20))) as speech:
            await anext(speech)
            await eventually(lambda: server.pool.stats.busy == 0)
            ahead_s = speech.utterance.core.produced / speech.rate
            assert ahead_s < 1.0 + 2.5, "a second, and the clause that was under way"
            assert len(await samples_of(speech)) / speech.rate > 40


async def test_leaving_it_stops_the_engine_and_gives_the_place_back():
    async with visiting(engine__options={"rate": 22_050, "rtf": 0.5}) as (server, visit):
        with visit.open(Ask("A sentence that would take seconds to be spoken to its end. " * 6)) as speech:
            await anext(speech)
            assert server._admission.streams == 1 and server.pool.stats.busy == 1
        await eventually(lambda: server.pool.stats.busy == 0)
        await eventually(lambda: server._admission.streams == 0)
        assert speech.utterance.core.produced / speech.rate < 6.0  # of 21 s
        assert counted(server, 'abr_tts_streams_ended_total{reason="cancelled"}') == 1


async def test_a_cancel_from_elsewhere_ends_the_iteration():
    async with visiting(engine__options={"rate": 22_050, "rtf": 1.0}) as (_, visit):
        with visit.open(Ask("A sentence that would take seconds to be spoken to its end.")) as speech:
            await anext(speech)
            asyncio.get_running_loop().call_soon(speech.cancel)
            async with asyncio.timeout(WAIT_S):
                left = [piece async for piece in speech]
            assert len(left) <= 1


async def test_all_of_it_is_counted_as_done():
    async with visiting() as (server, visit):
        await spoken(visit, text=SAYING)
        assert counted(server, 'abr_tts_streams_ended_total{reason="done"}') == 1
        assert counted(server, "abr_tts_streams_started_total") == 1
        assert counted(server, "abr_tts_sent_audio_seconds_total") == pytest.approx(SAID_S, abs=0.02)


async def test_an_engine_that_fails_is_told_after_what_it_said():
    async with visiting() as (server, visit):
        with visit.open(Ask("Half of this is spoken.", voice="tone-refuse")) as speech:
            heard = 0
            with pytest.raises(EngineError):
                async for piece in speech:
                    heard += len(piece.samples)
        assert 0 < heard < tone.samples_of("Half of this is spoken.", options=tone.Options(rate=22_050))
        assert server._admission.streams == 0
        assert counted(server, 'abr_tts_errors_total{code="engine_failed"}') == 1


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"text": "  "}, EmptyText),
        ({"text": "Hi.", "voice": "nobody"}, UnknownVoice),
        ({"text": "Hi.", "instruct": "whisper"}, Unsupported),
        ({"text": "Hi.", "speed": 0.24}, BadField),
        ({"text": "Hi.", "speed": 4.01}, BadField),
    ],
)
async def test_what_cannot_be_spoken_is_refused_and_costs_no_place(fields, error):
    async with visiting() as (server, visit):
        with pytest.raises(error):
            visit.open(Ask(**fields))
        assert server._admission.streams == 0
        assert counted(server, f'abr_tts_errors_total{{code="{error.code}"}}') == 1


@pytest.mark.parametrize("speed", [0.25, 4.0])
async def test_the_slowest_and_the_fastest_speed_of_the_engine_are_spoken(speed):
    async with visiting() as (_, visit):
        heard = await spoken(visit, text="Twenty characters it is.", speed=speed)
        assert len(heard) == pytest.approx(24 * 0.06 * 22_050 / speed, abs=500)


async def test_a_rate_without_frames_is_refused_in_words():
    async with visiting(engine__options={"rate": 11_025}) as (_, visit):
        with pytest.raises(Unsupported, match="11025 Hz"):
            visit.open(Ask("Hi."))


async def test_text_is_taken_up_to_its_limit():
    async with visiting(limits__text_chars=20, limits__chars_burst=100) as (_, visit):
        with visit.open(Ask("0123456789", open=True)) as speech:
            speech.add_text("0123456789")
            with pytest.raises(TextTooLong):
                speech.add_text("0")
            speech.end_text()
            assert len(await samples_of(speech)) == round(20 * 0.06 * 22_050)


async def test_streams_of_all_doors_count_together():
    async with visiting(limits__streams=1) as (server, visit):
        with visit.open(Ask(SAYING)):
            with pytest.raises(Busy):
                visit.open(Ask(SAYING))
            async with peer(server.url) as client:
                assert (await client.refused("Hello.")).code == "busy"
        assert len(await spoken(visit, text=SAYING))


async def test_a_server_that_stops_fails_what_is_under_way():
    async with visiting(engine__options={"rate": 22_050, "rtf": 1.0}) as (server, visit):
        told = []
        visit.on_shut = lambda error: told.append(error.code)
        with visit.open(Ask(SAYING)) as speech:
            await anext(speech)
            for guest in list(server._front.sessions):
                guest.shut()
            with pytest.raises(ShuttingDown):
                await samples_of(speech)
        assert told == ["shutting_down"]


async def test_who_may_not_be_here_any_more_gets_nothing_of_what_is_made():
    async with visiting() as (_, visit):
        with visit.open(Ask(SAYING)) as speech:
            await anext(speech)
            await eventually(lambda: len(speech._queue) > 1)
            visit.dismiss("its key was removed")
            with pytest.raises(Unauthorized):
                await anext(speech)
        assert visit.code == Unauthorized.close


async def test_a_draining_server_waits_for_it_and_takes_no_other():
    async with visiting(engine__options={"rate": 22_050, "rtf": 0.2}) as (server, visit):
        with visit.open(Ask("Some words, and a few more.")) as speech:
            await anext(speech)
            drained = asyncio.ensure_future(server.drain())
            await eventually(lambda: server._draining)
            with pytest.raises(Busy):
                visit.open(Ask(SAYING))
            with pytest.raises(ShuttingDown):
                server.desk.enter({}, "127.0.0.1")
            assert not drained.done()
            await samples_of(speech)
        async with asyncio.timeout(WAIT_S):
            await drained


# Opus


async def test_opus_comes_as_one_track_from_one_packet_before_its_start():
    async with visiting() as (_, visit):
        with visit.open(Ask(SAYING, opus=True)) as speech:
            pieces = await packets_of(speech)
    at = -FRAME_TICKS
    for piece in pieces:
        assert piece.pts == at
        at += len(piece.packets) * FRAME_TICKS
    assert [piece.end for piece in pieces[:-1]] == [None] * (len(pieces) - 1)
    assert at - FRAME_TICKS < pieces[-1].end <= at
    assert pieces[-1].end == round(SAID_S * 48_000)


@pytest.mark.parametrize(("kbps", "rung"), [(6, "opus6"), (32, "opus32"), (64, "opus64"), (510, "opus510")])
async def test_opus_of_a_fixed_bitrate_keeps_it(kbps, rung):
    async with visiting() as (server, visit):
        with visit.open(Ask(SAYING, opus=True, kbps=kbps)) as speech:
            await packets_of(speech)
        assert counted(server, f'abr_tts_sent_audio_seconds_total{{rung="{rung}"}}') > 3
        assert counted(server, "abr_tts_switches_total") == 0


async def test_a_speech_that_comes_whole_has_the_best_rung_from_its_start():
    async with visiting() as (server, visit):
        with visit.open(Ask(SAYING, opus=True, whole=True)) as speech:
            await packets_of(speech)
        assert counted(server, 'abr_tts_sent_audio_seconds_total{rung="opus48"}') > 3


class Link:
    """A line that has taken so many bytes of what was written, by the word of its kernel."""

    def __init__(self) -> None:
        self.written = self.taken = 0

    def sample(self) -> KernelSample:
        return KernelSample(max(0, self.written - self.taken), 0, 20.0)


async def test_a_line_that_takes_nothing_gets_no_more_than_may_be_on_the_way():
    async with visiting() as (_, visit):
        line = Link()
        with visit.open(Ask(SAYING * 3, opus=True), line) as speech:
            await anext(speech)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1.0):
                    while True:
                        speech.written(500)
                        line.written += 500
                        await anext(speech)
            assert 2_500 <= line.written <= 3_500  # half of `opening_bytes`, the first cap
            line.taken = line.written
            async with asyncio.timeout(WAIT_S):
                await anext(speech)


async def test_a_key_without_opus_in_its_policy_gets_that_of_the_house(tmp_path):
    policy = tmp_path / "pcm.toml"
    policy.write_text(
        'name = "pcm"\nbank_rung = "pcm16k"\nbank_best = "pcm16k"\n[[rung]]\nname = "pcm16k"\n', "utf-8"
    )
    async with visiting(stream__policy=str(policy)) as (_, visit):
        with visit.open(Ask(SAYING, opus=True)) as speech:
            assert speech.utterance.terms.policy.name == "opus"
            await packets_of(speech)


@pytest.mark.parametrize("opus", [False, True])
async def test_what_is_taken_is_not_kept_in_mind(opus):
    async with visiting() as (server, visit):
        with visit.open(Ask(SAYING * 5, opus=opus)) as speech:
            heard = speech.utterance._account._heard
            async for piece in speech:
                assert len(heard._on_the_way) < 20
                assert len(speech.utterance.core.retained) < 20
                if opus:
                    speech.written(sum(map(len, piece.packets)))
        assert counted(server, "abr_tts_played_audio_seconds_total") == 0
        assert counted(server, "abr_tts_bank_seconds_count") == 0
