"""The lossy transport: who arrives, what is repaired, and the meters that judge it."""

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.signals import speech_like

RATE = 24_000
SOUND = speech_like(RATE, 4.0)


@pytest.fixture
def lossy(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "tools" / "bench"))
    import lossy

    return lossy


@pytest.fixture
def meters(lossy):
    return sys.modules["lossy_meters"]


def test_without_loss_everything_arrives_and_is_heard_in_its_place(lossy, meters):
    what = lossy.sent(SOUND, 24, 0)
    arrived = lossy.over_virtual(what, 0, 1)
    assert arrived == set(range(len(what.packets)))
    source = SOUND.astype(np.float32) / 32768
    heard = lossy.heard(what, arrived)
    lag = np.argmax([float((source[9600 : 9600 + 24000] * heard[9600 + k : 33600 + k]).sum())
                     for k in range(-40, 41)]) - 40  # fmt: skip
    assert abs(lag) <= 1
    assert meters.segmental_snr_db(source[: len(heard)], heard[: len(source)], RATE) > 3


@pytest.mark.parametrize("loss", [5, 20])
def test_the_share_that_is_lost_is_the_one_that_was_asked_for(lossy, loss):
    what = lossy.Sent([bytes(60)] * 4000, False)
    lost = 4000 - len(lossy.over_virtual(what, loss, 1))
    assert lost / 40 == pytest.approx(loss, abs=1.5)


def test_tun_loses_the_very_packets_that_virtual_time_loses(lossy, tun_link):
    what = lossy.sent(SOUND, 24, 10)
    virtual = lossy.over_virtual(what, 10, 3)
    assert 0.8 * len(what.packets) < len(virtual) < len(what.packets)
    assert lossy.over_tun(what, 10, 3) == virtual


def test_fec_repairs_what_concealment_cannot(lossy, meters):
    source = SOUND.astype(np.float32) / 32768

    def snr(told: int) -> float:
        what = lossy.sent(SOUND, 24, told)
        heard = lossy.heard(what, lossy.over_virtual(what, 20, 1))
        return meters.segmental_snr_db(source[: len(heard)], heard, RATE)

    assert snr(20) > snr(0) + 0.5


def test_segmental_snr_is_bounded_and_leaves_out_pauses(meters):
    source = np.concatenate([SOUND.astype(np.float32) / 32768, np.zeros(RATE, np.float32)])
    assert meters.segmental_snr_db(source, source, RATE) == meters.HIGHEST_DB
    noisy = source + np.float32(10.0)
    assert meters.segmental_snr_db(source, noisy, RATE) == meters.LOWEST_DB
    spoiled = source.copy()
    spoiled[-RATE:] = 0.001  # in the pause alone
    assert meters.segmental_snr_db(source, spoiled, RATE) == meters.HIGHEST_DB


def test_pesq_is_left_out_where_it_is_not_installed(meters, monkeypatch):
    monkeypatch.setattr(meters, "missing", lambda *packages: "not installed: pesq")
    source = SOUND.astype(np.float32) / 32768
    assert set(meters.judge(source, source, RATE)) == {"seg_snr_db"}


def test_the_picture_has_a_line_for_each_arm_and_says_why_fec_is_off_over_tcp(lossy):
    rows = [
        {"backend": backend, "arm": arm, "loss_pct": loss, "seg_snr_db": 5.0 - loss / 5}
        for backend in ("virtual", "tun") for arm in lossy.ARMS for loss in lossy.LOSSES
    ]  # fmt: skip
    page = lossy.lossy_plot.page(rows, 24)
    assert page.count("<path") == 3 and page.count("rx=") == 3 * len(lossy.LOSSES)
    assert "FEC stays off" in page and "PESQ" not in page


def test_the_verdict_is_taken_from_the_rows(lossy):
    rows = [
        {"arm": arm, "loss_pct": loss, "pesq": value}
        for arm, values in {"plc": (4.0, 2.0), "fec": (4.0, 3.0), "fec10": (3.5, 3.0)}.items()
        for loss, value in zip((0, 10), values, strict=True)
    ]
    told = lossy.verdict(rows)
    assert (told["fec_gains_at_10_pct"], told["fec_costs_at_0_pct"]) == (1.0, 0.5)
