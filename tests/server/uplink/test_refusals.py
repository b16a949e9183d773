"""Clips over a real socket that cannot be taken: each refusal, and that nothing else is harmed by it."""

import numpy as np
import opuslib
import pytest

from abr_tts.engine.tone import expected
from abr_tts.wire import messages as m

from ..clips import (
    OPTIONS,
    TEXT,
    TONE,
    begin,
    conversion,
    messages,
    noise,
    packets,
    pcm_packets,
    reference,
    refused,
    sine,
    still_works,
    upload,
)
from ..harness import peer, serving

# ---- refused before any sound


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"consent": False}, "no_consent"),
        ({"voice": None}, "bad_field"),
        ({"voice": "../anna"}, "bad_field"),
        ({"voice": "anna/b"}, "bad_field"),
        ({"voice": ".anna"}, "bad_field"),
        ({"voice": "a" * 49}, "bad_field"),
        ({"voice": "a\0b"}, "bad_field"),
        ({"voice": "TONE-hot"}, "voice_taken"),
        ({"codec": "mp3"}, "unsupported"),
        ({"purpose": "karaoke"}, "unsupported"),
        ({"codec": "opus", "sample_rate": 44_100}, "bad_audio"),
        ({"sample_rate": 48_050}, "bad_audio"),
        ({"sample_rate": 16_001}, "bad_audio"),
    ],
)
async def test_a_reference_that_cannot_be_is_refused_before_any_sound(url, fields, code):
    async with peer(url) as client:
        request = reference(**{"voice": "new-voice"} | fields)
        assert (await refused(client, request)).code == code
        assert await still_works(client)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"voice": "nobody"}, "unknown_voice"),
        ({"rung": "opus9000"}, "unknown_rung"),
        ({"policy": "none"}, "unknown_policy"),
        ({"mode": "live"}, "unsupported"),
        ({"rung": "opus24", "formats": ("pcm16",)}, "no_common_format"),
    ],
)
async def test_a_conversion_is_refused_as_speech_is(url, fields, code):
    async with peer(url) as client:
        assert (await refused(client, conversion(**fields))).code == code


async def test_an_engine_without_the_ability_is_told_before_any_sound(tmp_path):
    async with serving() as server, peer(server.url) as client:
        for request in (reference(), conversion()):
            assert (await refused(client, request)).code == "unsupported"
        assert (await client.refused("hello", instruct="whisper")).code == "unsupported"
    async with serving(engine__voices_dir=str(tmp_path)) as server, peer(server.url) as client:
        assert (await refused(client, conversion())).code == "unsupported"
        assert await begin(client, reference())


async def test_a_full_folder_takes_no_more(tmp_path):
    settings = {"engine__voices_dir": str(tmp_path), "limits__voices": 1}
    async with serving(**settings) as server, peer(server.url) as client:
        clip = pcm_packets(noise(60), 16_000)
        late = await begin(client, reference("late"))
        await upload(client, reference("first"), clip)
        assert (await refused(client, reference("second"))).code == "too_many_voices"
        await client.send(*messages(late.stream, clip), m.TextEnd(late.stream))
        assert (await client.first(m.Error, stream=late.stream)).code == "too_many_voices"


async def test_one_clip_more_than_there_may_be_is_told_to_come_back(url):
    async with peer(url) as client, peer(url) as other:
        for number in range(3):
            await begin(client, reference(f"clip-{number}"))
        told = await refused(other, reference("one-more"))
        assert (told.code, told.retry_after) == ("busy", 1.0)
        await client.send(m.Cancel(client.of(m.StreamStarted)[0].stream))
        await client.first(m.StreamEnd)
        assert await begin(other, reference("one-more"))


async def test_two_clips_for_one_name_make_one_voice(url, voices, name):
    sounds = noise(60, 1), noise(60, 2)
    async with peer(url) as client:
        started = [await begin(client, reference(name)) for _ in sounds]
        for stream, sound in zip(started, sounds, strict=True):
            await client.send(*messages(stream.stream, pcm_packets(sound, 16_000)), m.TextEnd(stream.stream))
        ends = await client.until(lambda: client.of(m.StreamEnd) and client.of(m.Error))
        assert [error.code for error in ends] == ["voice_taken"]
        won = [stream.stream for stream in started].index(client.of(m.StreamEnd)[0].stream)
        np.testing.assert_array_equal(voices.get(name).read(), sounds[won])


# ---- sound that is not what was said


PCM = pcm_packets(noise(60), 16_000)
OPUS = packets("opus", sine(500, 1.2, 48_000), 48_000)


def opus_of_ms(size: int) -> bytes:
    """One packet of `size` samples at 48 kHz."""
    return opuslib.Encoder(48_000, 1, "audio").encode(bytes(2 * size), size)


@pytest.mark.parametrize(
    ("fields", "sound", "words"),
    [
        ({}, [PCM[0][:-1]], "639 bytes, an odd number"),
        ({}, [PCM[0][:-2]], "638 bytes"),
        ({}, [PCM[0] + b"\0\0"], "642 bytes"),
        ({"channels": 2}, [PCM[0]], "are 1280"),
        ({"sample_rate": 24_000}, [PCM[0]], "are 960"),
        ({"codec": "ulaw"}, [PCM[0]], "are 320"),
        ({"codec": "opus", "sample_rate": 48_000, "channels": 2}, [b"\xff" * 40], "cannot be decoded"),
        ({"codec": "opus", "sample_rate": 48_000}, [OPUS[0], b"\x03"], "cannot be decoded"),
        ({"codec": "opus", "sample_rate": 48_000}, [opus_of_ms(480)], "of 10 ms"),
        ({"codec": "opus", "sample_rate": 48_000}, [opus_of_ms(1_920)], "of 40 ms"),
        ({"codec": "opus", "sample_rate": 48_000}, [bytes([OPUS[0][0] | 4]) + OPUS[0][1:]], "two channels"),
    ],
)
async def test_sound_of_another_form_ends_its_stream_alone(url, voices, name, fields, sound, words):
    async with peer(url) as client:
        other = await client.start("", open=True, rung="pcm16k")
        started = await begin(client, reference(name, **fields))
        await client.send(m.UplinkAudio(started.stream, 0, tuple(sound)), m.TextEnd(started.stream))
        told = await client.first(m.Error, stream=started.stream)
        assert (told.code, told.scope) == ("bad_audio", "stream")
        assert words in told.message
        await client.send(m.UplinkAudio(started.stream, 960, (PCM[0],)))  # it crossed
        await client.send(m.Text(other.stream, TEXT), m.TextEnd(other.stream))
        np.testing.assert_array_equal(await client.whole_pcm(other.stream), expected(TEXT, options=TONE))
        assert len(client.of(m.Error)) == 1
        assert voices.get(name) is None


@pytest.mark.parametrize("pts", [0, 960, 3 * 960])
async def test_sound_that_does_not_follow_ends_its_stream(url, pts):
    async with peer(url) as client:
        started = await begin(client, reference("follows"))
        await client.send(m.UplinkAudio(started.stream, 0, tuple(PCM[:2])))
        await client.send(m.UplinkAudio(started.stream, pts, (PCM[2],)))
        told = await client.first(m.Error, stream=started.stream)
        assert (told.code, told.detail["expected"]) == ("bad_audio", 2 * 960)


async def test_a_clip_without_sound_or_of_silence_or_too_short_makes_no_voice(url, voices):
    async with peer(url) as client:
        zeros = packets("opus", np.zeros(32_000, np.float32), 16_000)
        for number, clip in enumerate([[], [bytes(640)] * 60, PCM[:49], zeros]):
            codec = "opus" if clip is zeros else "pcm16"
            started = await begin(client, reference(f"empty-{number}", codec=codec))
            await client.send(*messages(started.stream, clip), m.TextEnd(started.stream))
            assert (await client.first(m.Error, stream=started.stream)).code == "bad_audio"
            assert voices.get(f"empty-{number}") is None
        assert (await upload(client, reference("just-long-enough"), PCM[:50])).length == 16_000


@pytest.mark.parametrize("codec", ["pcm16", "opus"])
async def test_thirty_seconds_are_taken_and_a_frame_more_is_not(url, voices, name, codec):
    sound = np.tile(sine(400, 1.0), 30)
    clip = packets(codec, sound, 16_000)
    assert len(clip) == 1_500 + (codec == "opus")
    async with peer(url) as client:
        end = await upload(client, reference(name, codec=codec), clip)
        assert end.length == 480_000
        started = await begin(client, reference(f"{name}-more", codec=codec))
        await client.send(*messages(started.stream, [*clip, clip[-1]]))
        told = await client.first(m.Error, stream=started.stream)
        assert (told.code, told.scope, told.detail["limit"]) == ("audio_too_long", "stream", 30_000)
        assert await still_works(client)
    assert voices.get(f"{name}-more") is None


async def test_the_limit_is_told_in_welcome_and_can_be_set():
    async with serving(limits__uplink_s=2.0, engine__options=OPTIONS) as server, peer(server.url) as client:
        assert client.of(m.Welcome)[0].limits["uplink_ms"] == 2_000
        started = await begin(client, conversion())
        await client.send(*messages(started.stream, pcm_packets(noise(101), 16_000)))
        assert (await client.first(m.Error)).code == "audio_too_long"


async def test_a_clip_that_never_ends_gives_its_place_back():
    settings = {"limits__uplink_timeout_s": 0.5, "limits__uplinks": 1, "engine__options": OPTIONS}
    async with serving(**settings) as server, peer(server.url) as client:
        started = await begin(client, conversion())
        await client.send(m.UplinkAudio(started.stream, 0, (PCM[0],)))
        told = await client.first(m.Error, stream=started.stream)
        assert (told.code, told.scope) == ("bad_audio", "stream") and "within 0.5 s" in told.message
        other = await begin(client, conversion(rung="pcm16k"))
        await client.send(*messages(other.stream, PCM), m.TextEnd(other.stream))
        await client.first(m.StreamEnd, stream=other.stream, reason="done")
        assert await still_works(client)


async def test_a_folder_that_cannot_be_written_costs_that_stream_alone(tmp_path, caplog):
    file = tmp_path / "no-folder"
    file.write_text("in the way")
    async with serving(engine__voices_dir=str(file)) as server, peer(server.url) as client:
        started = await begin(client, reference())
        await client.send(*messages(started.stream, PCM), m.TextEnd(started.stream))
        told = await client.first(m.Error, stream=started.stream)
        assert (told.code, told.scope) == ("stream_failed", "stream") and "could not be kept" in told.message
        assert str(file) not in told.message, "where it is concerns the operator"
        assert await still_works(client)
    (line,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert str(file) in line.getMessage() and not line.exc_info


async def test_a_clip_that_never_ends_is_counted_and_one_that_ends_in_time_is_not():
    settings = {"limits__uplink_timeout_s": 2.0, "engine__options": OPTIONS}
    async with serving(**settings) as server, peer(server.url) as client:
        counted = server.metrics.limits_hit.labels("uplink_timeout_s")._value
        ended = await begin(client, conversion(rung="pcm16k"))
        await client.send(*messages(ended.stream, PCM), m.TextEnd(ended.stream))
        await client.first(m.StreamEnd, stream=ended.stream, reason="done")
        left = await begin(client, conversion())
        told = await client.first(m.Error, stream=left.stream)
        assert (told.code, told.detail["name"]) == ("bad_audio", "uplink_timeout_s")
        assert counted.get() == 1
