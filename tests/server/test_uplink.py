"""Clips over a real socket: voices that are kept, speech that is converted, and every refusal."""

import asyncio
import uuid

import numpy as np
import opuslib
import pytest

from abr_tts.audio.pcm import to_int16, ulaw_encode
from abr_tts.engine.references import References
from abr_tts.engine.tone import Options, converted, expected, pitch
from abr_tts.wire import messages as m

from .clips import begin, conversion, messages, noise, packets, pcm_packets, reference, refused, sine, upload
from .harness import eventually, peer, serving, serving_in_a_thread

OPTIONS = {"rate": 16_000, "converts": True, "instructs": True}
TONE = Options(rate=16_000, converts=True, instructs=True)
TEXT = "A voice that was made."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("voices")


@pytest.fixture(scope="module")
def server(folder):
    settings = {"engine__options": OPTIONS, "engine__voices_dir": str(folder), "engine__workers": 2}
    with serving_in_a_thread(limits__streams_per_connection=32, limits__uplinks=3, **settings) as made:
        yield made


@pytest.fixture
def url(server):
    return server.url


@pytest.fixture
def voices(folder):
    return References(folder)


@pytest.fixture
def name():
    return f"v-{uuid.uuid4().hex[:12]}"


async def still_works(client) -> bool:
    """The connection goes on."""
    await client.send(m.Ping(77))
    return bool(await client.first(m.Pong, value=77))


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
        for number, clip in enumerate([[], [bytes(640)] * 60, PCM[:49]]):
            started = await begin(client, reference(f"empty-{number}"))
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
    settings = {"limits__uplink_timeout_s": 0.1, "limits__uplinks": 1, "engine__options": OPTIONS}
    async with serving(**settings) as server, peer(server.url) as client:
        started = await begin(client, conversion())
        await client.send(m.UplinkAudio(started.stream, 0, (PCM[0],)))
        told = await client.first(m.Error, stream=started.stream)
        assert (told.code, told.scope) == ("bad_audio", "stream") and "within 0.1 s" in told.message
        other = await begin(client, conversion(rung="pcm16k"))
        await client.send(*messages(other.stream, PCM), m.TextEnd(other.stream))
        await client.first(m.StreamEnd, stream=other.stream, reason="done")
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
