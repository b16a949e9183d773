"""The two pages as people use them: by mouse, by keyboard, by screen reader, on a phone, in the dark."""

import asyncio
import json
import re
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from abr_tts.demo.links import Links
from abr_tts.server.app import Server
from abr_tts.server.config import load

from ..server.harness import eventually
from .site import TONE

WAIT_S = 30.0
TEXT = "a text of some length that is heard for three seconds or so. "
ADMIN = "an-admins-key"


@asynccontextmanager
async def demonstrating(folder: Path, **settings):
    server = Server(load(overrides=TONE | {"record.dir": str(folder), "admin.keys": (ADMIN,)} | settings))
    Links(server).open()
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@pytest.fixture(scope="module")
def demo(loop, tmp_path_factory):
    with loop.holding(demonstrating(tmp_path_factory.mktemp("traces"))) as server:
        yield server


@pytest.fixture
def page(loop, browser, demo):
    page = loop.run(browser.page(f"{demo.http_url}/"))
    loop.run(until(page, "!document.querySelector('#link-controls').hidden"))
    loop.run(page.run(f"document.querySelector('#text').value = {TEXT!r}; localStorage.clear()"))
    yield page
    loop.run(page.close())
    assert not page.complaints


async def until(page, script: str, wait_s: float = WAIT_S):
    """The first true value of an expression of the page, asked at each of its frames."""
    asked = (
        f"new Promise((done) => {{ const look = () => {{ const value = ({script});"
        "value ? done(value) : setTimeout(look, 30) }; look() })"
    )
    async with asyncio.timeout(wait_s):
        return await page.run(asked)


async def press(page, key: str, modifiers: int = 0) -> None:
    code = {"Enter": 13, "Escape": 27, "Tab": 9, " ": 32}[key]
    text = {"Enter": "\r", " ": " "}.get(key, "") if not modifiers else ""
    for kind in ("keyDown", "keyUp"):
        await page.call(
            "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
            modifiers=modifiers, **({"text": text} if text and kind == "keyDown" else {}),
        )  # fmt: skip


def said(text: str) -> str:
    return f"document.querySelector('#status').textContent === {text!r}"


async def slide(page, position: int) -> None:
    await page.run(
        f"(() => {{ const slider = document.querySelector('#rate'); slider.value = {position};"
        "for (const kind of ['input', 'change']) slider.dispatchEvent(new Event(kind)) })()"
    )


def test_a_click_speaks_and_the_page_shows_what_is_heard(loop, page):
    loop.run(page.click("#play"))
    heard = loop.run(
        until(page, "/[a-z]+[0-9]+/.exec(document.querySelector('#tile-heard').textContent)?.[0]")
    )
    assert heard in ("opus24", "opus48", "pcm22")
    loop.run(until(page, said("Heard to the end.")))
    shown = loop.run(page.run(
        "Object.fromEntries(['strip', 'plot-bank', 'plot-rtt'].map((id) => "
        "[id, document.querySelector(`#${id} .plot`).getAttribute('aria-label')]))"
    ))  # fmt: skip
    assert re.search(r"Played now: .+ sent now: (–|[a-z]+\d+);", shown["strip"])
    assert loop.run(page.run("document.querySelectorAll('#strip rect.sent').length")) >= 2
    assert re.search(r"\d+\.\d s now, \d+\.\d s to \d+\.\d s", shown["plot-bank"])
    assert loop.run(page.run("document.querySelectorAll('#strip rect.played').length")) >= 2  # one is the key
    assert "The first sound." in loop.run(page.run("document.querySelector('#log').innerText"))
    assert loop.run(page.run("document.querySelector('#spectrogram canvas').width")) > 100


def test_the_spectrogram_has_colour_where_there_was_sound(loop, page):
    loop.run(page.click("#play"))
    loop.run(until(page, said("Heard to the end.")))
    colours = loop.run(page.run(
        "(() => { const c = document.querySelector('#spectrogram canvas');"
        "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        "const s = new Set(); for (let n = 0; n < d.length; n += 4) s.add(d[n]); return s.size })()"
    ))  # fmt: skip
    assert colours > 10


def test_the_keyboard_alone_speaks_pauses_and_stops(loop, page):
    loop.run(page.run("document.querySelector('#text').focus()"))
    loop.run(press(page, "Enter", modifiers=2))  # Ctrl
    loop.run(until(page, said("Speaking.")))
    loop.run(page.run("document.querySelector('#pause').focus()"))
    loop.run(press(page, " "))
    loop.run(until(page, said("Paused.") + " && document.querySelector('#pause').textContent === 'Resume'"))
    loop.run(press(page, " "))
    loop.run(until(page, said("Speaking.")))
    loop.run(press(page, "Escape"))
    loop.run(until(page, said("Stopped.") + " && !document.querySelector('#play').disabled"))
    assert loop.run(page.run("document.activeElement.id")) == "play"  # not lost with the button that went


def test_every_control_and_picture_has_a_name_for_screen_readers(loop, page):
    loop.run(page.click("#play"))
    loop.run(until(page, said("Speaking.")))
    nodes = loop.run(page.call("Accessibility.getFullAXTree"))["nodes"]
    wanted = {"button", "textbox", "combobox", "slider", "link", "img", "image", "log", "heading", "region"}
    found = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"] and node["role"]["value"] in wanted
    ]
    assert [role for role, name in found if not name.strip()] == []
    assert {role for role, _ in found} >= {"button", "textbox", "combobox", "slider", "log", "heading"}
    live = loop.run(page.run("document.querySelectorAll('output, [aria-live=assertive]').length"))
    assert live == 0  # figures that change four times a second may not be read out


def test_the_table_holds_what_the_plots_show(loop, page):
    loop.run(page.click("#play"))
    loop.run(until(page, said("Heard to the end.")))
    loop.run(page.run("document.querySelector('#values').open = true"))
    cells = (
        "[...document.querySelectorAll('#values tbody tr')].map((row) => "
        "[...row.cells].map((cell) => cell.innerText))"
    )
    rows = loop.run(until(page, f"((rows) => rows.length && rows)({cells})"))
    assert len(rows) >= 3 and int(rows[0][0]) > int(rows[-1][0])
    assert any(re.fullmatch(r"(opus|pcm)\d+", row[1]) and float(row[3]) > 0 for row in rows)


def test_a_dead_link_is_heard_through_from_the_bank_and_the_rest_comes_later(loop, page, demo):
    loop.run(page.run(f"document.querySelector('#text').value = {TEXT * 5!r}"))
    loop.run(page.click("#play"))
    loop.run(until(page, "parseFloat(document.querySelector('#tile-bank').textContent) > 3"))
    loop.run(slide(page, 0))
    loop.run(until(page, "document.querySelector('#log').innerText.includes('You set the link to dead.')"))
    before = loop.run(page.run("parseFloat(document.querySelector('#tile-bank').textContent)"))
    loop.run(until(page, f"parseFloat(document.querySelector('#tile-bank').textContent) < {before - 1}"))
    assert loop.run(page.run(said("Speaking.")))  # the tunnel is not heard
    label = "document.querySelector('#strip .plot').getAttribute('aria-label')"
    loop.run(until(page, f"{label}.includes('sent now: –')"))
    loop.run(slide(page, 1000))
    loop.run(until(page, said("Heard to the end.")), seconds=WAIT_S * 2)
    told = loop.run(page.run("document.querySelector('#log').innerText"))
    assert re.search(r"Heard: (opus|pcm)\w+ → (opus|pcm)\w+\.", told), told


def test_the_decisions_of_the_last_speech_are_downloaded(loop, page, tmp_path):
    behaviour = {"behavior": "allow", "downloadPath": str(tmp_path)}
    loop.run(page.call("Page.setDownloadBehavior", **behaviour))
    assert loop.run(page.run("document.querySelector('#decisions').disabled"))
    loop.run(page.click("#play"))
    loop.run(until(page, said("Heard to the end.")))
    loop.run(page.run("document.querySelector('#decisions').click()", gesture=True))
    path = loop.run(eventually(lambda: next(tmp_path.glob("abr-tts-*.jsonl"), None)))
    lines = path.read_text("utf-8").splitlines()
    assert "policy_sha256" in json.loads(lines[0]) and json.loads(lines[-1]) == {"end": "done"}
    # A page that asks before the server has heard of the end is told 404 and asks again.
    page.complaints[:] = [complaint for complaint in page.complaints if "404" not in complaint]


def test_the_page_speaks_chinese_and_remembers_it(loop, page):
    loop.run(page.click("[data-language=zh]"))
    assert loop.run(page.run("document.documentElement.lang")) == "zh-Hans"
    names = loop.run(page.run("[...document.querySelectorAll('main button')].map((b) => b.innerText)"))
    assert {"播放", "暂停", "停止"} <= set(names)
    loop.run(page.open(loop.run(page.run("location.href"))))
    loop.run(until(page, "document.querySelector('#play').innerText === '播放'"))
    assert "隧道" in loop.run(until(page, "document.querySelector('#text').value"))


@pytest.mark.parametrize("path", ["", "ops"])
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_nothing_sticks_out_on_a_phone_or_a_wide_screen(loop, page, demo, path, width):
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    loop.run(page.call("Emulation.setDeviceMetricsOverride", **metrics))
    loop.run(page.open(f"{demo.http_url}/{path}"))
    assert loop.run(page.run("document.documentElement.scrollWidth")) <= width


def test_the_page_follows_the_dark_scheme_while_it_is_open(loop, page):
    def shade(scheme: str) -> list:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        loop.run(page.call("Emulation.setEmulatedMedia", features=features))
        return loop.run(page.run(
            "['background-color', 'color'].map((name) => "
            "parseInt(getComputedStyle(document.body)[name].match(/\\d+/)[0]))"
        ))  # fmt: skip

    (light, ink), (dark, pale) = shade("light"), shade("dark")
    assert light > 200 > ink and dark < 60 < pale


def test_an_empty_text_is_told_and_nothing_is_asked_for(loop, page, demo):
    before = demo.metrics.registry.get_sample_value("abr_tts_streams_started_total")
    loop.run(page.run("document.querySelector('#text').value = ' '"))
    loop.run(page.click("#play"))
    loop.run(until(page, said("Type something first.")))
    assert demo.metrics.registry.get_sample_value("abr_tts_streams_started_total") == before


def test_a_server_with_keys_asks_for_one_and_takes_it(loop, browser, tmp_path):
    with loop.holding(demonstrating(tmp_path, **{"auth.keys": ("right",)})) as server:
        page = loop.run(browser.page(f"{server.http_url}/"))
        loop.run(until(page, "!document.querySelector('#key-form').hidden"))
        enter = (
            "document.querySelector('#key').value = {!r}; document.querySelector('#key-form button').click()"
        )
        loop.run(page.run(enter.format("wrong")))
        loop.run(until(page, "document.querySelector('#log').innerText.includes('asks for an API key')"))
        loop.run(page.run(enter.format("right")))
        loop.run(until(page, "document.querySelector('#key-form').hidden"))
        loop.run(page.run(f"document.querySelector('#text').value = {TEXT!r}"))
        loop.run(page.click("#play"))
        loop.run(until(page, said("Heard to the end.")))
        loop.run(page.close())
        assert not page.complaints


def test_without_an_admin_key_the_operators_page_says_what_to_set(loop, browser, tmp_path):
    with loop.holding(demonstrating(tmp_path, **{"admin.keys": ()})) as server:
        ops = loop.run(browser.page(f"{server.http_url}/ops"))
        loop.run(until(ops, "!document.querySelector('#key-form').hidden"))
        loop.run(ops.run("document.querySelector('#key').value = 'any'"))
        loop.run(ops.click("#key-form button"))
        loop.run(until(ops, "document.querySelector('#status').textContent.includes('admin.keys_file')"))
        assert loop.run(ops.run("document.querySelector('#view').hidden"))
        loop.run(ops.close())


def test_the_operator_sees_a_stream_and_none_of_its_words(loop, browser, page, demo):
    loop.run(page.run(f"document.querySelector('#text').value = {TEXT * 3!r}"))
    loop.run(page.click("#play"))
    loop.run(until(page, said("Speaking.")))
    ops = loop.run(browser.page(f"{demo.http_url}/ops"))
    loop.run(until(ops, "!document.querySelector('#key-form').hidden"))
    assert not ops.complaints  # it does not ask in vain
    loop.run(ops.run("document.querySelector('#key').value = 'wrong'"))
    loop.run(ops.click("#key-form button"))
    loop.run(
        until(ops, said("That key does not open it.") + " && !document.querySelector('#key-form').hidden")
    )
    assert len(ops.complaints) == 1 and "401" in ops.complaints.pop()
    loop.run(ops.run(f"document.querySelector('#key').value = {ADMIN!r}"))
    loop.run(ops.click("#key-form button"))
    row = loop.run(until(ops, "document.querySelector('#streams tbody tr')?.innerText"))
    assert re.search(r"[0-9a-f]{8}\s+(speaking|playing on)\s", row) and "default" in row
    loop.run(until(ops, "/opus24|pcm22/.test(document.querySelector('#rungs tbody').innerText)"))
    everything = loop.run(ops.run("document.documentElement.outerHTML"))
    assert "some length" not in everything and ADMIN not in everything
    loop.run(ops.close())
    assert not ops.complaints
    loop.run(page.click("#stop"))
