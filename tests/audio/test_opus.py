"""The face of Opus: packets of the family asked for, whole frames out, faults told in words."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from abr_tts.audio import opus, pcm
from abr_tts.control import ladder
from abr_tts.errors import OpusError
from tests.signals import speech_like, sweep, tone

LIBRARY = opus.load()
LADDER_KBPS = (8, 12, 16, 24, 32, 48, 64)
FRAME = 480


def frames(samples: np.ndarray) -> np.ndarray:
    whole = len(samples) // FRAME * FRAME
    return pcm.to_float(samples[:whole]).reshape(-1, FRAME)


SPEECH = frames(speech_like(24_000, 3.0))
SIGNALS = {
    "speech": SPEECH,
    "tone": frames(tone(24_000, 1.0)),
    "sweep": frames(sweep(24_000, 1.0, 100, 11_500)),
    "silence": np.zeros((50, FRAME), np.float32),
    "full scale noise": frames(np.random.default_rng(0).integers(-32768, 32768, 24_000).astype(np.int16)),
}


def encoded(kbps: int, pcm_frames: np.ndarray = SPEECH) -> list[bytes]:
    encoder = opus.Encoder(LIBRARY, kbps=kbps)
    return [encoder.encode(frame) for frame in pcm_frames]


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize("kbps", LADDER_KBPS)
def test_every_packet_is_of_the_family_that_its_bitrate_promises(kbps, signal):
    modes = {opus.mode_of(packet) for packet in encoded(kbps, SIGNALS[signal])}
    assert modes <= ({"celt"} if kbps >= 64 else {"silk", "hybrid"})


@pytest.mark.parametrize("complexity", [0, 5, 10])
@pytest.mark.parametrize("kbps", [63, 64])
def test_the_family_does_not_hang_on_complexity(kbps, complexity):
    """Left to itself libopus codes 64 kbit/s as hybrid at complexity 5."""
    encoder = opus.Encoder(LIBRARY, kbps=kbps, complexity=complexity)
    modes = {opus.mode_of(encoder.encode(frame)) for frame in SPEECH[:30]}
    assert ("celt" in modes, len(modes & {"silk", "hybrid"}) > 0) == (kbps == 64, kbps == 63)


SPEECH_MODE = [(8, "silk"), (12, "silk"), (16, "hybrid"), (24, "hybrid"), (48, "hybrid"), (64, "celt")]


@pytest.mark.parametrize(("kbps", "mode"), SPEECH_MODE)
def test_speech_is_coded_in_the_mode_that_was_measured(kbps, mode):
    modes = [opus.mode_of(packet) for packet in encoded(kbps)]
    assert modes.count(mode) >= 0.9 * len(modes)


def test_the_ladder_and_the_encoder_agree_where_celt_begins():
    assert opus.CELT_FROM_KBPS == ladder.CELT_FROM_KBPS


@pytest.mark.parametrize("kbps", LADDER_KBPS)
def test_the_bitrate_is_near_what_was_asked(kbps):
    packets = encoded(kbps)
    measured = sum(map(len, packets)) * 8 / 20 / len(packets)
    assert 0.7 * kbps < measured < 1.15 * kbps


def test_one_decoder_plays_a_family_through_every_retune_without_being_told():
    encoder, decoder = opus.Encoder(LIBRARY, kbps=12), opus.Decoder(LIBRARY)
    sizes = {}
    for index, kbps in enumerate((12, 48, 8, 24, 16, 32)):
        encoder.retune(kbps)
        packets = [encoder.encode(frame) for frame in SPEECH[index * 25 : index * 25 + 25]]
        sizes[kbps] = sum(map(len, packets[2:]))
        assert all(len(decoder.decode(packet)) == 960 for packet in packets)
        assert all(opus.mode_of(packet) != "celt" for packet in packets)
    assert sizes[8] < sizes[24] < sizes[48]


@pytest.mark.parametrize(("kbps", "other"), [(48, 64), (64, 48)])
def test_a_retune_out_of_the_family_is_refused(kbps, other):
    encoder = opus.Encoder(LIBRARY, kbps=kbps)
    with pytest.raises(ValueError, match="another family"):
        encoder.retune(other)
    assert encoder.kbps == kbps


def test_fec_and_dtx_are_off_and_vbr_is_on():
    encoder, numbers = opus.Encoder(LIBRARY, kbps=24), LIBRARY.numbers
    assert encoder._get(numbers.GET_DTX_REQUEST) == 0
    assert encoder._get(numbers.GET_INBAND_FEC_REQUEST) == 0
    assert encoder._get(numbers.GET_VBR_REQUEST) == 1
    assert encoder._get(numbers.GET_COMPLEXITY_REQUEST) == 9
    assert encoder._get(numbers.GET_APPLICATION_REQUEST) == numbers.APPLICATION_AUDIO
    assert encoder._get(numbers.GET_SIGNAL_REQUEST) == numbers.SIGNAL_VOICE


@pytest.mark.parametrize("kbps", LADDER_KBPS)
def test_ten_seconds_of_silence_inside_speech_stay_silent_and_shift_nothing(kbps):
    gap = np.zeros((500, FRAME), np.float32)
    encoder, decoder = opus.Encoder(LIBRARY, kbps=kbps), opus.Decoder(LIBRARY)
    packets = [encoder.encode(frame) for frame in np.concatenate([SPEECH[:50], gap, SPEECH[50:100]])]
    assert min(map(len, packets)) > 2  # a DTX packet is a bare head of 1 or 2 bytes
    sound = np.concatenate([decoder.decode(packet) for packet in packets])
    assert len(sound) == 600 * 960
    assert np.abs(sound[60 * 960 : 549 * 960]).max() < 1e-3
    assert np.abs(sound[551 * 960 :]).max() > 0.1


@pytest.mark.parametrize("rate", opus.RATES)
def test_every_rate_of_opus_goes_in_and_comes_out(rate):
    encoder, decoder = opus.Encoder(LIBRARY, kbps=24, rate=rate), opus.Decoder(LIBRARY, rate)
    sound = decoder.decode(encoder.encode(np.zeros(rate // 50, np.float32)))
    assert (sound.dtype, sound.shape) == (np.float32, (rate // 50,))


def test_lookahead_is_what_the_encoder_was_measured_to_need():
    assert [opus.Encoder(LIBRARY, kbps=kbps).lookahead for kbps in (8, 48, 64)] == [155, 155, 156]
    assert opus.Encoder(LIBRARY, kbps=64).stated_lookahead == 156
    assert [opus.track_lookahead(24, rate) for rate in (16_000, 48_000)] == [103, 310]


def test_the_encoder_takes_a_view_and_leaves_it_alone():
    view = np.repeat(SPEECH[30], 2)[::2]
    before = view.copy()
    assert opus.Encoder(LIBRARY, kbps=24).encode(view) == opus.Encoder(LIBRARY, kbps=24).encode(before)
    assert np.array_equal(view, before)


def test_frames_and_packets_do_not_share_memory_with_the_codec():
    encoder, decoder = opus.Encoder(LIBRARY, kbps=24), opus.Decoder(LIBRARY)
    first = encoder.encode(SPEECH[30])
    kept = bytes(bytearray(first))
    sound = decoder.decode(first)
    copy = sound.copy()
    decoder.decode(encoder.encode(SPEECH[31]))
    assert first == kept and np.array_equal(sound, copy)


WRONG_FRAMES = {
    "one sample short": np.zeros(479, np.float32),
    "empty": np.zeros(0, np.float32),
    "of integers": np.zeros(480, np.int16),
    "of doubles": np.zeros(480),
    "of two channels": np.zeros((480, 2), np.float32),
    "with NaN": np.full(480, np.nan, np.float32),
    "with infinity": np.full(480, -np.inf, np.float32),
}


@pytest.mark.parametrize("name", WRONG_FRAMES)
def test_a_frame_that_is_not_a_frame_is_refused_and_the_encoder_lives_on(name):
    encoder = opus.Encoder(LIBRARY, kbps=24)
    with pytest.raises(ValueError, match=r"want float32|NaN"):
        encoder.encode(WRONG_FRAMES[name])
    assert encoder.encode(SPEECH[0]) == encoded(24, SPEECH[:1])[0]


def test_samples_beyond_full_scale_are_coded_and_clipped_after():
    loud = np.sin(np.arange(10 * FRAME) * 0.1).astype(np.float32).reshape(10, FRAME) * np.float32(1.07)
    decoder = opus.Decoder(LIBRARY)
    sound = np.concatenate([decoder.decode(packet) for packet in encoded(48, loud)])[960:]
    whole = pcm.to_int16(sound).astype(int)
    assert np.abs(sound).max() > 1.0
    assert np.abs(np.diff(whole)).max() < 4000  # a wrapped sample would jump by 65 000


@pytest.mark.parametrize("packet", [b"", b"\xff" * 1500, b"\x03", b"\x6b\xff\xff"])
def test_bytes_that_are_no_packet_are_told_and_the_decoder_lives_on(packet):
    decoder = opus.Decoder(LIBRARY)
    with pytest.raises(OpusError, match="packet") as caught:
        decoder.decode(packet)
    assert caught.value.number < 0
    assert len(decoder.decode(encoded(24)[0])) == 960


def test_lost_frames_are_concealed_from_what_was_heard():
    decoder = opus.Decoder(LIBRARY)
    heard = [decoder.decode(packet) for packet in encoded(24, SIGNALS["tone"])]
    one = decoder.conceal()
    assert one.shape == (960,) and np.abs(one).max() > 0.3 * np.abs(heard[-1]).max()
    assert decoder.conceal(3).shape == (3 * 960,)
    for frames_lost in (0, 7):
        with pytest.raises(ValueError, match="conceal"):
            decoder.conceal(frames_lost)


def test_a_longer_packet_gives_all_its_frames():
    packets = encoded(24)
    code3 = bytes([packets[40][0] | 3, 0x82, len(packets[40]) - 1]) + packets[40][1:] + packets[41][1:]
    assert opus.Decoder(LIBRARY).decode(code3).shape == (1920,)


def test_closing_twice_is_no_fault_and_using_a_closed_codec_is():
    encoder, decoder = opus.Encoder(LIBRARY, kbps=24), opus.Decoder(LIBRARY)
    for codec in (encoder, decoder):
        codec.close()
        codec.close()
    with pytest.raises(ValueError, match="closed"):
        encoder.encode(SPEECH[0])
    with pytest.raises(ValueError, match="closed"):
        encoder.retune(16)
    with pytest.raises(ValueError, match="closed"):
        decoder.decode(encoded(24, SPEECH[:1])[0])


@pytest.mark.parametrize(
    "arguments", [{"kbps": 5}, {"kbps": 511}, {"kbps": 24, "rate": 22_050}, {"kbps": 24, "complexity": 11}]
)
def test_settings_out_of_range_are_refused_with_the_range(arguments):
    with pytest.raises(ValueError, match=r"within|takes"):
        opus.Encoder(LIBRARY, **arguments)


def test_a_setting_that_libopus_refuses_is_told_in_its_words():
    with pytest.raises(OpusError, match="invalid argument"):
        opus.Encoder(LIBRARY, kbps=24)._set(LIBRARY.numbers.SET_COMPLEXITY_REQUEST, 99)


def test_codecs_on_many_threads_give_the_packets_of_one():
    alone = encoded(24)
    with ThreadPoolExecutor(4) as threads:
        assert all(packets == alone for packets in threads.map(encoded, [24] * 8))


def test_an_empty_packet_has_no_mode():
    with pytest.raises(ValueError, match="no mode"):
        opus.mode_of(b"")


# In-band FEC, for transports that lose packets


def fec_packets(loss_percent: int, kbps: int = 24) -> list[bytes]:
    encoder = opus.Encoder(LIBRARY, kbps=kbps, loss_percent=loss_percent)
    return [encoder.encode(frame) for frame in SPEECH]


def residual_of_lost_frames(packets: list[bytes], recover: bool) -> float:
    """Energy of what differs from the unbroken sound in the frames of every fifth packet, which is lost."""
    whole, broken = opus.Decoder(LIBRARY, 24_000), opus.Decoder(LIBRARY, 24_000)
    energy = 0.0
    for index, packet in enumerate(packets[:-1]):
        true = whole.decode(packet)
        if index % 5 != 4:
            broken.decode(packet)
            continue
        got = broken.recover(packets[index + 1]) if recover else broken.conceal()
        assert got.shape == true.shape and got.dtype == np.float32
        energy += float(((got - true) ** 2).sum())
    return energy


def test_a_lost_frame_comes_back_from_the_copy_in_the_next_packet():
    packets = fec_packets(20)
    assert residual_of_lost_frames(packets, recover=True) < 0.5 * residual_of_lost_frames(packets, False)


def test_without_fec_there_is_no_copy_and_recovering_conceals():
    packets = fec_packets(0)
    assert residual_of_lost_frames(packets, True) == residual_of_lost_frames(packets, False)


def test_fec_is_off_unless_a_loss_is_told():
    numbers = LIBRARY.numbers
    for loss_percent in (0, 1, 100):
        encoder = opus.Encoder(LIBRARY, kbps=24, loss_percent=loss_percent)
        assert encoder._get(numbers.GET_INBAND_FEC_REQUEST) == (loss_percent > 0)
        assert encoder._get(numbers.GET_PACKET_LOSS_PERC_REQUEST) == loss_percent


@pytest.mark.parametrize("arguments", [{"loss_percent": -1}, {"loss_percent": 101}])
def test_a_loss_out_of_range_is_refused(arguments):
    with pytest.raises(ValueError, match="within 0 to 100"):
        opus.Encoder(LIBRARY, kbps=24, **arguments)


def test_celt_has_no_fec_and_says_so():
    opus.Encoder(LIBRARY, kbps=opus.CELT_FROM_KBPS - 1, loss_percent=10)
    with pytest.raises(ValueError, match="CELT has no FEC"):
        opus.Encoder(LIBRARY, kbps=opus.CELT_FROM_KBPS, loss_percent=10)


def test_recovering_from_what_is_no_packet_is_told_and_the_decoder_lives_on():
    decoder, packets = opus.Decoder(LIBRARY), fec_packets(10)
    for bad in (b"", b"\xff"):
        with pytest.raises(OpusError):
            decoder.recover(bad)
    assert len(decoder.recover(packets[1])) == 960
