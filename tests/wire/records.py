"""Every record of the wire with any values that it may hold, for property tests."""

from hypothesis import strategies as st

from abr_tts.wire import messages as m

LAST_TICK = 2**32 - 1
SAFE = 2**53 - 1

plain = st.characters(exclude_categories=["Cs"])
speech = st.text(st.characters(), max_size=40)
uuids = st.uuids().map(str)
handles = st.integers(1, 255)
refs = handles | uuids
numbers = st.integers(0, 65_535)
ticks = st.integers(0, LAST_TICK)
frames = st.integers(0, LAST_TICK // 960).map(lambda frame: frame * 960)
counts = st.integers(0, SAFE)
rates = st.integers(8_000, 192_000)
channels = st.integers(1, 2)
packets = st.lists(st.binary(min_size=1, max_size=300), min_size=1, max_size=11).map(tuple)


def words(most, least=0):
    return st.text(plain, min_size=least, max_size=most)


names = words(64, 1)
labels = words(200)
codecs = st.lists(words(32, 1), min_size=1, max_size=16).map(tuple)
seconds = st.floats(0, 86_400)


def maybe(values):
    return st.none() | values


def known(most):
    return st.floats(0, most) | st.just(-1.0)


pairs = st.tuples(numbers, st.integers(-2_880, LAST_TICK))
leaves = (
    st.none() | st.booleans() | st.integers(-SAFE, SAFE) | st.floats(allow_nan=False, allow_infinity=False)
)
detail = st.dictionaries(
    names,
    st.recursive(
        leaves | words(20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words(8), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)

CLIENT = [
    st.builds(
        m.Hello,
        st.lists(numbers, min_size=1, max_size=16).map(tuple), st.integers(0, 2), codecs, labels,
    ),
    st.builds(
        m.StreamStart,
        uuids, speech, st.booleans(), maybe(words(200, 1)), maybe(words(35, 1)), st.floats(0.25, 4),
        maybe(names), maybe(names), words(32, 1), maybe(codecs), maybe(words(500, 1)),
    ),
    st.builds(m.Text, refs, speech),
    st.builds(m.TextEnd, refs),
    st.builds(m.Attach, uuids, words(200, 1), st.lists(pairs, max_size=64).map(tuple), ticks),
    st.builds(
        m.AudioStart,
        uuids, words(32, 1), rates, channels, words(32, 1), st.booleans(), maybe(words(200, 1)),
        words(2_000), maybe(words(35, 1)), st.floats(0.25, 4), maybe(names), maybe(names), words(32, 1),
        maybe(codecs),
    ),
    st.builds(m.UplinkAudio, handles, frames, packets),
    st.builds(m.Cancel, refs),
    st.builds(m.Pause, refs),
    st.builds(m.Resume, refs),
    st.builds(
        m.BitRateHint,
        handles, counts, ticks, st.integers(0, 3_600_000), known(60_000), st.floats(0, 1), known(60_000),
        known(10_000_000), st.integers(0, 1_000_000), st.integers(0, 86_400_000), st.booleans(),
        st.booleans(), st.lists(pairs, max_size=16).map(tuple),
    ),
    st.builds(m.Ping, counts),
    st.builds(m.Pong, counts),
]  # fmt: skip

audio = st.builds(
    m.Audio, handles, numbers, st.integers(-3, LAST_TICK // 960).map(lambda f: f * 960), packets
)

SERVER = [
    st.builds(
        m.Welcome,
        numbers, words(64), labels, st.integers(1, 3_600_000), st.integers(1, 60_000),
        st.dictionaries(names, counts, max_size=8),
    ),
    st.builds(
        m.StreamStarted,
        handles, uuids, words(200), labels, rates, channels, words(32, 1), names, st.integers(0, LAST_TICK),
    ),
    st.builds(
        m.Track,
        handles, numbers, st.integers(0, 1), names, words(32, 1), rates, channels, frames, st.integers(0, 3),
        st.integers(1, 3),
    ),
    audio,
    st.builds(m.Switch, handles, numbers, words(64), names, frames, st.integers(0, 48_000), labels),
    st.builds(m.Mark, handles, ticks, ticks, ticks),
    st.builds(m.StreamEnd, handles, counts, rates, channels, words(32), words(32, 1), ticks),
    st.builds(m.FlowControl, st.floats(0, 1e6), seconds, maybe(handles)),
    st.builds(m.GoingAway, st.integers(0, 86_400_000), labels),
    st.builds(
        m.Error,
        names, words(1_000), st.sampled_from(["connection", "stream", "nothing"]), maybe(handles),
        maybe(uuids), maybe(seconds), detail,
    ),
    st.builds(m.Ping, counts),
    st.builds(m.Pong, counts),
]  # fmt: skip
