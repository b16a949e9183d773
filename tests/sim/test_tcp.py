"""TCP over links: whole and in order, as fast as the link, and back soon after an outage."""

import math

import pytest

from abr_tts.sim.events import Alarm, Events
from abr_tts.sim.link import Link
from abr_tts.sim.scenario import Bursts, Direction
from abr_tts.sim.sender import MSS
from abr_tts.sim.tcp import HEADER, PLAIN, Endpoint, Host, join

ROUND_S = 600.0
PATIENT = Host(rto_max_s=120.0)


class Transfer:
    """Messages of `size` bytes, numbered, written whenever the kernel takes one."""

    def __init__(
        self, down: Direction, *, host: Host | None = None, size: int = 2_000, count: float = math.inf
    ):
        self.events, self.size, self.left = Events(), size, count
        self.written, self.got = 0, []
        self.most_unsent = 0
        self.down = Link(down, ROUND_S, "down")
        up = Link(Direction(((0.0, 5_000.0),), down.delay_s), ROUND_S, "up")
        self.server = Endpoint(self.events, self.down, host or Host(), lambda *_: None, self.fill)
        self.client = Endpoint(self.events, up, PLAIN, self.take)
        join(self.server, self.client)

    def fill(self, now: float) -> None:
        while self.left and self.server.has_room:
            self.server.write(self.written, self.size)
            self.written += 1
            self.left -= 1
            self.most_unsent = max(self.most_unsent, self.server.sender.unsent)
        self.server.wait_for_room()

    def take(self, message: int, now: float) -> None:
        self.got.append((now, message))

    def run(self, seconds: float) -> "Transfer":
        self.fill(0.0)
        self.events.run(seconds)
        return self

    def kbps(self, begin: float, end: float) -> float:
        return sum(begin < at <= end for at, _ in self.got) * self.size * 8 / 1000 / (end - begin)


def steady(kbps: float, delay_s: float = 0.04, **more) -> Direction:
    return Direction(((0.0, float(kbps)),), delay_s, **more)


@pytest.mark.parametrize(
    ("kbps", "delay_s"), [(100, 0.04), (400, 0.04), (1000, 0.02), (2000, 0.02), (2000, 0.2)]
)
def test_a_steady_link_is_filled(kbps, delay_s):
    queue = max(20_000, round(4 * kbps * 125 * delay_s))  # twice what a round trip carries
    transfer = Transfer(steady(kbps, delay_s, queue_bytes=queue), host=PATIENT).run(120)
    assert transfer.kbps(20, 120) == pytest.approx(kbps * MSS / (MSS + HEADER), rel=0.03)
    assert transfer.server.sender.timeouts == 0


LOSSY = {
    "random": steady(600, 0.05, loss=0.05),
    "bursts": steady(600, 0.02, bursts=Bursts(1.0, 0.2, 0.0, 0.8)),
    "queue": steady(300, 0.04, queue_bytes=10_000),
    "jitter": steady(600, 0.03, jitter_s=0.02, loss=0.01),
    "drop": steady(600, 0.04, drop_windows=((1.0, 1.3), (2.0, 5.0))),
    "hold": Direction(((0.0, 600.0), (1.0, 0.0), (4.0, 600.0)), 0.04),
}


@pytest.mark.parametrize("name", LOSSY)
@pytest.mark.parametrize("size", [60, 2_000])
def test_every_message_arrives_once_and_in_order_whatever_is_lost(name, size):
    transfer = Transfer(LOSSY[name], size=size, count=400).run(200)
    assert [message for _, message in transfer.got] == list(range(400))
    sender = transfer.server.sender
    assert (sender.unacked, sender.unsent, sender.on_the_way) == (0, 0, 0)
    assert transfer.events.now <= 200


def test_the_kernel_takes_at_most_one_message_beyond_its_mark():
    transfer = Transfer(steady(100), host=Host(notsent_bytes=4096), size=1_000).run(5)
    assert 4096 <= transfer.most_unsent < 4096 + 1_000


def test_a_refused_writer_is_called_when_half_the_mark_is_free():
    transfer = Transfer(steady(100), size=1_000)
    seen = []
    transfer.server._on_room = lambda now: seen.append(transfer.server.sender.unsent) or transfer.fill(now)
    transfer.run(5)
    assert seen
    assert all(unsent < 2048 for unsent in seen)


def test_a_send_buffer_bounds_what_is_not_acknowledged():
    transfer = Transfer(steady(100), host=Host(math.inf, 1.0, buffer_bytes=50_000), size=1_000).run(3)
    assert 40_000 < transfer.server.sender.unacked < 50_000 + 1_000


@pytest.mark.parametrize("outage_s", [0.3, 1.0, 3.0, 10.0])
def test_after_radio_silence_sound_is_back_soon_because_the_time_out_is_capped(outage_s):
    back = []
    for begin in (5.0, 5.13, 5.4, 5.77):
        down = steady(1000, drop_windows=((begin, begin + outage_s),))
        transfer = Transfer(down, host=Host(rto_max_s=1.0)).run(begin + outage_s + 4)
        back.append(min(at for at, _ in transfer.got if at > begin + outage_s) - begin - outage_s)
    assert max(back) <= 1.3


def test_without_the_cap_the_time_out_sleeps_on_after_a_long_outage():
    late = []
    for outage_s in (8.0, 10.0, 12.0, 14.0):
        down = steady(1000, drop_windows=((5.0, 5 + outage_s),))
        got = Transfer(down, host=PATIENT).run(50).got
        late.append(min(at for at, _ in got if at > 5.1 + outage_s) - 5 - outage_s)
    assert max(late) > 3


def test_a_capped_time_out_fires_in_vain_where_the_queue_alone_lasts_longer():
    down = steady(100, queue_bytes=20_000)  # 1.6 s
    capped, patient = Transfer(down).run(60), Transfer(down, host=PATIENT).run(60)
    assert capped.server.sender.timeouts > 3 * patient.server.sender.timeouts
    assert capped.kbps(10, 60) < patient.kbps(10, 60)


def test_what_was_held_and_not_lost_goes_on_at_full_speed():
    down = Direction(((0.0, 1000.0), (5.0, 0.0), (10.0, 1000.0)), 0.04)
    transfer = Transfer(down).run(20)
    assert min(at for at, _ in transfer.got if at > 10) < 10.1
    assert transfer.server.sender.timeouts >= 4
    assert transfer.kbps(10.5, 20) > 900


def test_one_hole_holds_up_what_came_behind_it():
    transfer = Transfer(steady(2000, 0.1, drop_windows=((1.0, 1.02),)), size=500)
    transfer.left = 0
    transfer.fill(0.0)
    for index in range(40):  # a thin stream: one small packet each 20 ms
        transfer.events.at(1.0 + index * 0.02 - 0.005, lambda index=index: transfer.server.write(index, 500))
    transfer.events.run(5)
    times = [at for at, _ in transfer.got]
    assert [message for _, message in transfer.got] == list(range(40))
    held = [at for at in times if at == times[1]]
    assert len(held) >= 5


def test_the_smallest_round_trip_is_found():
    sender = Transfer(steady(2000, 0.04), size=300, count=50).run(5).server.sender
    assert sender.min_rtt == pytest.approx(0.08, abs=0.004)


def test_the_handshake_tells_how_long_to_wait_for_what_is_lost_at_once():
    down = steady(2000, 0.04, drop_windows=((0.0, 0.05),))
    back = []
    for round_trip_s in (0.08, 0.0):
        transfer = Transfer(down, size=300, count=1)
        join(transfer.server, transfer.client, round_trip_s)
        transfer.run(5)
        back.append(transfer.got[0][0])
    assert back[0] < 0.5 < 1.0 < back[1]


def test_slow_start_doubles_each_round_trip():
    transfer = Transfer(steady(100_000, 0.1), size=20_000)
    windows = []
    for round_trip in range(1, 5):
        transfer.events.at(round_trip * 0.2 + 0.1, lambda: windows.append(transfer.server.sender.window))
    transfer.run(1.0)
    assert windows[:3] == [20, 40, 80]


def test_an_idle_connection_starts_slowly_again():
    transfer = Transfer(steady(100_000, 0.1), size=20_000, count=20).run(10)
    assert transfer.server.sender.window > 50
    transfer.server.write("late", 100)
    assert transfer.server.sender.window == 10


def test_an_alarm_rings_once_at_the_time_set_last():
    events, rung = Events(), []
    alarm = Alarm(events, lambda: rung.append(events.now))
    alarm.set(5.0)
    alarm.set(2.0)
    alarm.set(3.0)
    events.run(10)
    assert rung == [3.0]
    alarm.set(12.0)
    alarm.set(None)
    assert not alarm.is_set
    events.run(20)
    assert rung == [3.0]


def test_equal_times_happen_in_the_order_they_were_asked_for():
    events, seen = Events(), []
    for index in range(50):
        events.at(1.0, seen.append, index)
    events.run()
    assert seen == list(range(50))
