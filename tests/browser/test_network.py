"""A network with a hole in it, and one that comes back."""

import pytest

from .listening import EDGE, gaps, recorded, roughness, smooth, span
from .relay import relaying
from .site import TONE, serving

TEXT = "A sentence that is made no faster than it is heard by you."
SECONDS = 0.06 * len(TEXT)
RATE = 48_000


@pytest.fixture(scope="module")
def slow_server(loop):
    """An engine that speaks no faster than it is heard, so that the player holds what it started with."""
    options = TONE["engine.options"] | {"rtf": 1.0}
    with loop.holding(serving(**{"engine.options": options})) as server:
        yield server


@pytest.fixture
def link(loop, slow_server):
    with loop.holding(relaying(slow_server.port)) as relay:
        yield relay


@pytest.fixture
def far_page(loop, browser, link):
    """A page whose every byte comes over the link."""
    page = loop.run(browser.page(f"http://127.0.0.1:{link.port}/page/tap.html"))
    loop.run(page.run("make({rate: 48000}); standing.then(() => null)"))
    yield page
    loop.run(page.close())


def test_a_hole_of_800_ms_over_200_ms_held_is_one_stall_without_click_or_loss(loop, link, far_page, capsys):
    loop.run(far_page.run(f"speak({TEXT!r}, {{rung: 'pcm22'}}); next(speech, 'start')"))
    held = loop.run(far_page.run("next(player, 'stats')"))["bankMs"]
    loop.run(link.hole(0.8))
    report = loop.run(far_page.run("speech.done"))
    events = loop.run(far_page.run("events"))
    heard = span(recorded(loop, far_page))
    with capsys.disabled():
        print(f"\n{held:.0f} ms held before the hole, then a stall of {report['stallMs']:.0f} ms")
    assert report["complete"] and report["stalls"] == 1
    assert [kind for kind, _ in events if kind in ("stall", "resumed")] == ["stall", "resumed"]
    [(begin, end)] = gaps(heard, RATE // 200)
    assert 0.3 * RATE < end - begin < 0.8 * RATE
    assert abs(len(heard) - (end - begin) - SECONDS * RATE) < 3
    assert roughness(heard[EDGE:-EDGE]) < 1.2 * smooth(1000, RATE)


def test_a_connection_that_is_cut_in_mid_speech_costs_no_sample(loop, link, far_page):
    loop.run(far_page.run(f"speak({TEXT!r}, {{rung: 'pcm22'}}); next(speech, 'start')"))
    loop.run(link.cut())
    report = loop.run(far_page.run("speech.done"))
    log = [kind for kind, _ in loop.run(far_page.run("log")) if kind != "stats"]
    heard = span(recorded(loop, far_page))
    assert log == ["connecting", "open", "reconnecting", "connecting", "open"]
    assert report["complete"] and report["stalls"] <= 1, "0.2 s were held, and the engine is no faster"
    silent = sum(end - begin for begin, end in gaps(heard, RATE // 200))
    assert abs(len(heard) - silent - SECONDS * RATE) < 3
    assert roughness(heard[EDGE:-EDGE]) < 1.2 * smooth(1000, RATE)


def test_where_the_server_holds_nothing_the_speech_ends_with_its_reason_and_the_next_is_heard(
    loop, browser, chromium
):
    options = {"engine.options": TONE["engine.options"] | {"rtf": 1.0}, "resume.window_s": 0}
    with loop.holding(serving(**options)) as server, loop.holding(relaying(server.port)) as link:
        page = loop.run(browser.page(f"http://127.0.0.1:{link.port}/page/tap.html"))
        loop.run(page.run("make({rate: 48000}); standing.then(() => null)"))
        loop.run(page.run(f"speak({TEXT!r}, {{rung: 'pcm22'}}); next(speech, 'start')"))
        loop.run(link.cut())
        reason = loop.run(page.run("speech.done.then(() => 'done', ({code}) => code)"))
        assert reason == "resume_lost"
        assert loop.run(page.run("speak('Again.')"))["complete"]
        loop.run(page.close())
