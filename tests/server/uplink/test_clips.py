"""Clips over a real socket: voices that are kept, speech that is converted."""

import asyncio

import numpy as np
import opuslib
import pytest

from abr_tts.audio.pcm import to_int16, ulaw_encode
from abr_tts.engine.tone import Options, converted, expected, pitch
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
from ..harness import eventually, peer, serving

PCM = pcm_packets(noise(60), 16_000)


def of_hz(hz: float) -> np.ndarray:
    """What the tone engine says with a voice made of a tone of that pitch."""
    return expected(TEXT, options=Options(rate=16_000, hz=hz))


# ---- a voice that is kept


@pytest.mark.parametrize("rate", [8_000, 16_000, 24_000, 48_000])
@pytest.mark.parametrize("codec", ["pcm16", "opus"])
async def test_a_voice_is_made_of_a_clip_and_speaks_at_once(url, voices, name, codec, rate):
    clip = packets(codec, sine(700, 1.5, rate), rate)
    async with peer(url) as client:
        end = await upload(
            client, reference(name, codec=codec, sample_rate=rate, text="hm", language="de"), clip
        )
        kept = voices.get(name)
        assert (kept.text, kept.languages, kept.consent) == ("hm", ("de",), True)
        assert abs(kept.seconds - 1.5) <= 0.04
        assert (end.length, end.sample_rate, end.reason) == (len(kept.read()), 16_000, "done")
        assert pitch(kept.read()) == 700
        started = await client.start(TEXT, voice=name, rung="pcm16k")
        assert started.voice == name
        np.testing.assert_array_equal(await client.whole_pcm(started.stream), of_hz(700))


async def test_pcm_at_16_khz_is_kept_sample_for_sample(url, voices, name):
    sound = noise(60)
    async with peer(url) as client:
        await upload(client, reference(name), pcm_packets(sound, 16_000))
    np.testing.assert_array_equal(voices.get(name).read(), sound)


@pytest.mark.parametrize("rate", [16_000, 48_000])
async def test_two_channels_of_pcm_become_their_mean(url, voices, name, rate):
    left, right = to_int16(sine(500, 1.2, rate)), to_int16(np.zeros(round(1.2 * rate), np.float32))
    async with peer(url) as client:
        clip = pcm_packets(np.stack([left, right], axis=1), rate)
        await upload(client, reference(name, sample_rate=rate, channels=2), clip)
    kept = voices.get(name).read()
    assert pitch(kept) == 500
    assert abs(np.abs(kept[1_000:-1_000]).max() - 8_192) < 40


async def test_two_channels_of_opus_become_their_mean(url, voices, name):
    encoder = opuslib.Encoder(48_000, 2, "audio")
    encoder.bitrate = 96_000
    left = to_int16(sine(500, 1.2, 48_000))
    sound = np.stack([left, np.zeros_like(left)], axis=1)
    clip = [encoder.encode(sound[at : at + 960].tobytes(), 960) for at in range(0, len(sound), 960)]
    assert any(packet[0] & 4 for packet in clip)
    async with peer(url) as client:
        await upload(client, reference(name, codec="opus", sample_rate=48_000, channels=2), clip)
    kept = voices.get(name).read()
    assert pitch(kept) == 500
    assert abs(np.abs(kept[4_000:-4_000]).max() - 8_192) < 900


async def test_ulaw_is_taken_as_well(url, voices, name):
    coded = ulaw_encode(to_int16(sine(900, 1.1, 8_000)))
    clip = [coded[at : at + 160] for at in range(0, len(coded), 160)]
    async with peer(url) as client:
        await upload(client, reference(name, codec="ulaw", sample_rate=8_000), clip)
    assert pitch(voices.get(name).read()) == 900


async def test_the_sound_of_opus_stands_where_it_stood(url, voices, name):
    silence, tone = np.zeros(24_000, np.float32), sine(1_000, 0.7, 48_000)
    async with peer(url) as client:
        clip = packets("opus", np.concatenate([silence, tone]), 48_000)
        await upload(client, reference(name, codec="opus", sample_rate=48_000), clip)
    kept = voices.get(name).read().astype(float)
    first = int(np.argmax(np.abs(kept) > 2_000))
    assert abs(first - 8_000) < 40  # half a second, to 2.5 ms; uncompensated it would be 104 more


async def test_the_voice_of_one_replica_speaks_at_the_other(tmp_path, name):
    settings = {"engine__options": OPTIONS, "engine__voices_dir": str(tmp_path)}
    async with (
        serving(**settings) as one,
        serving(**settings) as other,
        peer(one.url) as here,
        peer(other.url) as there,
    ):
        assert (await there.refused(TEXT, voice=name)).code == "unknown_voice"
        await upload(here, reference(name), pcm_packets(to_int16(sine(650, 1.2)), 16_000))
        started = await there.start(TEXT, voice=name.upper(), rung="pcm16k")
        np.testing.assert_array_equal(await there.whole_pcm(started.stream), of_hz(650))
        assert (await refused(there, reference(name))).code == "voice_taken"
        assert name in [voice.name for voice in other.pool.voices]


async def test_a_reference_is_over_with_its_end_and_leaves_nothing_behind(server, url, name):
    async with peer(url) as client:
        started = await begin(client, reference(name))
        clip = pcm_packets(noise(60), 16_000)
        await client.send(*messages(started.stream, clip), m.TextEnd(started.stream))
        await client.first(m.StreamEnd)
        await client.send(m.UplinkAudio(started.stream, 60 * 960, (clip[0],)), m.Cancel(started.stream))
        assert await still_works(client)
        assert not client.of(m.Error)
        await eventually(lambda: server._admission.streams == 0)
        assert len(server._front._shared.share) == 0


async def test_a_connection_that_is_cut_in_the_middle_of_a_clip_leaves_nothing(server, url, voices, name):
    async with peer(url) as client:
        started = await begin(client, reference(name))
        await client.send(*messages(started.stream, pcm_packets(noise(100), 16_000)))
        client.socket._conn.transport.abort()
        await eventually(lambda: server._admission.streams == 0 and not len(server._front._shared.share))
    assert voices.get(name) is None
    assert not [entry.name for entry in voices.folder.iterdir() if entry.name.startswith(".")]


async def test_a_clip_that_is_cancelled_is_not_kept(url, voices, name):
    async with peer(url) as client:
        started = await begin(client, reference(name))
        await client.send(
            *messages(started.stream, pcm_packets(noise(100), 16_000)), m.Cancel(started.stream)
        )
        assert (await client.first(m.StreamEnd)).reason == "cancelled"
        await client.send(m.TextEnd(started.stream))
        assert await still_works(client)
        assert voices.get(name) is None


async def test_a_clip_that_is_cancelled_while_it_is_written_is_not_kept_either(url, voices, name):
    clip = PCM * 20
    async with peer(url) as client:
        started = await begin(client, reference(name))
        await client.send(
            *messages(started.stream, clip), m.TextEnd(started.stream), m.Cancel(started.stream)
        )
        assert (await client.first(m.StreamEnd)).reason == "cancelled"
        assert await still_works(client)
    await eventually(lambda: not [one for one in voices.folder.iterdir() if one.name in (name, ".new")])
    assert voices.get(name) is None


# ---- speech that is converted


@pytest.mark.parametrize("speed", [1.0, 1.25])
async def test_what_is_converted_is_heard_to_the_sample(url, speed):
    sound = noise(75)
    async with peer(url) as client:
        started = await begin(client, conversion(speed=speed, rung="pcm16k"))
        assert (started.sample_rate, started.rung, started.voice) == (16_000, "pcm16k", "tone")
        await client.send(*messages(started.stream, pcm_packets(sound, 16_000)), m.TextEnd(started.stream))
        heard = await client.whole_pcm(started.stream)
    np.testing.assert_array_equal(heard, converted(sound, speed, TONE))


async def test_the_answer_to_a_conversion_adapts_as_any_speech(url):
    async with peer(url) as client:
        started = await begin(client, conversion())
        await client.send(
            *messages(started.stream, pcm_packets(noise(300), 16_000)), m.TextEnd(started.stream)
        )
        end = await client.first(m.StreamEnd, stream=started.stream)
        assert end.length == 300 * 320
        assert {track.codec for track in client.of(m.Track)} >= {"opus"}
        assert client.of(m.Track)[0].rung == started.rung


async def test_a_conversion_and_a_speech_of_one_connection_do_not_mix(url):
    sound = noise(100)
    async with peer(url) as client:
        clip = await begin(client, conversion(rung="pcm16k"))
        speech = await client.start(TEXT, rung="pcm16k")
        for message in messages(clip.stream, pcm_packets(sound, 16_000)):
            await client.send(message)
        await client.send(m.TextEnd(clip.stream))
        np.testing.assert_array_equal(await client.whole_pcm(speech.stream), expected(TEXT, options=TONE))
        np.testing.assert_array_equal(await client.whole_pcm(clip.stream), converted(sound, 1.0, TONE))


async def test_a_conversion_is_cancelled_before_its_clip_is_whole_and_while_it_sounds(server, url):
    async with peer(url) as client:
        early = await begin(client, conversion())
        await client.send(*messages(early.stream, pcm_packets(noise(20), 16_000)), m.Cancel(early.stream))
        assert (await client.first(m.StreamEnd, stream=early.stream)).length == 0
        late = await begin(client, conversion(rung="pcm16k"))
        await client.send(*messages(late.stream, pcm_packets(noise(900), 16_000)), m.TextEnd(late.stream))
        await client.first(m.Audio, stream=late.stream)
        await client.send(m.Cancel(late.stream))
        assert (await client.first(m.StreamEnd, stream=late.stream)).reason == "cancelled"
        await eventually(lambda: server.pool.stats.busy == 0 and server._admission.streams == 0)


@pytest.mark.parametrize(("voice", "code"), [("tone-die", "engine_lost"), ("tone-refuse", "engine_failed")])
async def test_an_engine_that_fails_at_a_conversion_costs_that_stream_alone(url, voice, code):
    async with peer(url) as client:
        started = await begin(client, conversion(voice=voice))
        await client.send(
            *messages(started.stream, pcm_packets(noise(50), 16_000)), m.TextEnd(started.stream)
        )
        told = await client.first(m.Error, stream=started.stream)
        assert (told.code, told.scope) == (code, "stream")
        assert await still_works(client)


# ---- the pace


async def test_each_clip_is_told_its_share_of_what_the_server_takes():
    settings = {"limits__uplink_kbps": 3_000, "engine__options": OPTIONS}
    async with serving(**settings) as server, peer(server.url) as client:
        one = await begin(client, conversion())
        assert (await client.first(m.FlowControl, stream=one.stream)).rate == 3_000
        other = await begin(client, conversion())
        assert (await client.first(m.FlowControl, stream=other.stream)).rate == 1_500
        await client.until(lambda: client.of(m.FlowControl, stream=one.stream)[-1].rate == 1_500)
        await client.send(m.Cancel(other.stream))
        await client.until(lambda: client.of(m.FlowControl, stream=one.stream)[-1].rate == 3_000)
        clip = pcm_packets(noise(50), 16_000)
        await client.send(*messages(one.stream, clip), m.TextEnd(one.stream))
        await client.first(m.StreamEnd, stream=one.stream, reason="done")


# ---- how to speak


async def test_words_on_how_to_speak_reach_the_engine(url):
    async with peer(url) as client:
        started = await client.start(TEXT, rung="pcm16k", instruct="in a whisper")
        whispered = expected(TEXT, options=Options(rate=16_000, amplitude=0.25))
        np.testing.assert_array_equal(await client.whole_pcm(started.stream), whispered)


async def test_many_clips_at_once_are_kept_apart(url, voices, name):
    sounds = {f"{name}-{number}": noise(60, number) for number in range(3)}
    async with peer(url) as client:
        await asyncio.gather(
            *(upload(client, reference(voice), pcm_packets(sound, 16_000)) for voice, sound in sounds.items())
        )
    for voice, sound in sounds.items():
        np.testing.assert_array_equal(voices.get(voice).read(), sound)
