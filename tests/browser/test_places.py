"""Browsers and pages that give less: no gesture yet, no secure origin, no Worker, and long days."""

import json

import pytest

from ..server.harness import eventually
from .cdp import Browser
from .listening import recorded, spoken
from .site import serving
from .test_pages import until

TEXT = "A sentence is heard by you."
"""27 characters of tone, 60 ms each."""

SECONDS = 0.06 * len(TEXT)


@pytest.fixture(scope="module")
def plain(loop, chromium):
    """A browser as it is: a page makes no sound before a gesture; and it knows a name of the LAN."""
    with loop.holding(Browser(chromium, "--host-resolver-rules=MAP speech.lan 127.0.0.1")) as browser:
        yield browser


def test_a_page_without_a_gesture_is_locked_and_a_click_loses_nothing(loop, plain, server):
    page = loop.run(plain.page(f"{server.http_url}/page/tap.html"))
    loop.run(page.run(f"make({{rate: 48000}}); speak({TEXT!r}, {{rung: 'pcm22'}}); next(player, 'locked')"))
    assert not recorded(loop, page).any()
    loop.run(page.click("#unlock"))
    report = loop.run(page.run("speech.done"))
    assert report["complete"] and report["stalls"] == 0
    assert ["unlocked", {}] in loop.run(page.run("log"))
    assert abs(len(spoken(recorded(loop, page))) - SECONDS * 48_000) < 3
    loop.run(page.close())


def test_plain_http_on_a_lan_has_no_worklet_and_speaks(loop, plain, server):
    page = loop.run(plain.page(f"http://speech.lan:{server.port}/page/tap.html"))
    assert loop.run(page.run("isSecureContext || 'AudioWorklet' in window")) is False
    loop.run(page.run(f"make({{rate: 48000}}); text = {TEXT!r}; rung = 'opus24'; null"))
    loop.run(page.click("#speak"))
    report = loop.run(page.run("spoken"))
    assert report["complete"] and set(report["rungs"]) == {"opus24"}
    assert abs(len(spoken(recorded(loop, page))) - SECONDS * 48_000) < 0.01 * 48_000
    loop.run(page.close())


def test_without_workers_the_page_itself_receives(loop, page):
    loop.run(page.run("delete window.Worker; make({rate: 48000}); null"))
    report = loop.run(page.run(f"speak({TEXT!r}, {{rung: 'opus24'}})"))
    assert report["complete"] and report["stalls"] == 0
    assert abs(len(spoken(recorded(loop, page))) - SECONDS * 48_000) < 0.01 * 48_000


def test_a_page_that_is_left_is_not_waited_for_and_speaks_when_it_is_back(loop, browser, server):
    page = loop.run(browser.page(f"{server.http_url}/page/tap.html"))
    loop.run(page.run(f"make(); speak({TEXT * 20!r}); next(speech, 'start')"))
    loop.run(page.open(f"{server.http_url}/page/icon.svg"))
    loop.run(eventually(lambda: server._admission.streams == 0))
    entries = loop.run(page.call("Page.getNavigationHistory"))["entries"]
    loop.run(page.call("Page.navigateToHistoryEntry", entryId=entries[-2]["id"]))
    loop.run(until(page, "window.ready"))
    loop.run(page.run("window.player ?? make(); null"))  # kept or loaded anew: that is the browser's affair
    assert loop.run(page.run("speak('Hi.')"))["complete"]
    loop.run(page.close())


def test_a_hundred_utterances_leave_nothing_behind(loop, browser, server, capsys):
    page = loop.run(browser.page(f"{server.http_url}/page/tap.html"))
    say = "(async (n) => { while (n--) await player.speak('Hi.', {speed: 4}).done; })"

    def footprint():
        loop.run(page.run("new Promise((resolve) => setTimeout(resolve, 500))"))  # nodes are let go late
        return loop.run(page.footprint("AudioWorkletNode"))

    loop.run(page.run(f"untapped = true; make(); {say}(20)"))
    before = footprint()
    loop.run(page.run(f"{say}(100)"))
    after = footprint()
    with capsys.disabled():
        print(f"\nafter 20 and after 120 utterances: {before} and {after}")
    assert after["nodes"] <= 1
    assert after["page"] < before["page"] + 300_000 and after["worker"] < before["worker"] + 300_000
    loop.run(page.close())


def test_a_key_opens_the_door_and_a_wrong_one_is_told_at_once(loop, browser):
    with loop.holding(serving(auth__keys=("right",))) as server:
        page = loop.run(browser.page(f"{server.http_url}/page/tap.html"))
        report = loop.run(page.run("make({token: 'right'}); speak('Hello.').then(({complete}) => complete)"))
        loop.run(page.run("player.close(); null"))
        said = loop.run(page.run("make({token: 'wrong'}); speak('Hello.').catch(({code}) => code)"))
        loop.run(page.close())
    assert (report, said) == (True, "unauthorized")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"url": "ftp://127.0.0.1/"}, "connect_failed"),
        ({"url": "ws://elsewhere.example/v1/stream"}, "connect_failed"),
        ({"token": "a secret"}, "unauthorized"),
    ],
    ids=["no WebSocket's address", "the page's policy", "no key"],
)
def test_what_the_browser_does_not_even_try_is_told_and_not_tried_again(loop, browser, server, options, code):
    page = loop.run(browser.page(f"{server.http_url}/page/tap.html"))
    told = f"make({json.dumps(options)}); speak('Hello.').catch(({{code, message}}) => [code, message])"
    said, words = loop.run(page.run(told))
    log = [kind for kind, _ in loop.run(page.run("log")) if kind != "stats"]
    loop.run(page.close())
    assert said == code and "secret" not in words and log.count("connecting") == 1


def test_a_loudspeaker_without_whole_frames_is_taken_at_another_rate(loop, page):
    odd = "class extends AudioContext { constructor(wish = {sampleRate: 11025}) { super(wish); } }"
    report = loop.run(page.run(f"make({{Context: {odd}}}); speak({TEXT!r}, {{rung: 'pcm22'}})"))
    assert report["complete"]
    assert abs(len(spoken(recorded(loop, page))) - SECONDS * 48_000) < 3


def test_a_loudspeaker_that_somebody_closes_is_replaced(loop, page):
    kept = "class extends AudioContext { constructor(...all) { super(...all); window.context = this; } }"
    script = f"""make({{Context: {kept}}}); speak({TEXT!r}, {{rung: 'pcm22'}});
        next(speech, 'start').then(() => context.close()).then(() => speech.done)"""
    assert loop.run(page.run(script))["complete"]
    assert loop.run(page.run("context.close().then(() => speak('Hi.'))"))["complete"]


def test_a_fast_link_upgrades_and_says_why(loop, page):
    report = loop.run(page.run(f"make({{rate: 48000}}); speak({TEXT * 2!r})"))
    events = loop.run(page.run("events"))
    switches = [detail for kind, detail in events if kind == "switch"]
    assert report["complete"] and report["stalls"] == 0
    assert switches and all(detail["reason"] and detail["to"] for detail in switches)
    assert [detail["rung"] for kind, detail in events if kind == "played"][-1] in report["rungs"]
    assert len(report["rungs"]) > 1
    assert abs(len(spoken(recorded(loop, page))) - 2 * SECONDS * 48_000) < 0.01 * 48_000


def test_the_policy_of_these_pages_forbids_what_the_player_does_without(loop, browser, server):
    page = loop.run(browser.page(f"{server.http_url}/page/tap.html"))
    tries = """
        const refused = (act) => { try { act(); return ''; } catch (error) { return error.name; } };
        const blob = URL.createObjectURL(new Blob(['0'], { type: 'text/javascript' }));
        new Promise((resolve) => {
          const worker = new Worker(blob);
          worker.onerror = () => resolve('no worker');
          worker.onmessage = () => resolve('a worker');
          setTimeout(() => resolve('a worker'), 5000);
        }).then((worker) => [refused(() => (0, eval)('1')), worker])"""
    assert loop.run(page.run(tries)) == ["EvalError", "no worker"]
    loop.run(page.close())
