"""The picture: well-formed, within its frame, and red where and only where a listener waited."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from abr_tts.demo.account import Account
from abr_tts.demo.picture import COLOURS, LEFT, RIGHT, STALL, WIDTH, Shown, draw, name_of, verdict
from abr_tts.demo.story import LINK
from abr_tts.demo.svg import Svg
from abr_tts.demo.told import Piece
from abr_tts.sim.scenario import Direction, Scenario, steady

SVG = "{http://www.w3.org/2000/svg}"


def account(rungs: dict[str, float], stall_s: float = 0.0, name: str = "adaptive") -> Account:
    """So many seconds of each rung, a stall before the last one."""
    one, at = Account(name, name.title(), 22_050), 0.3
    for number, (rung, seconds) in enumerate(rungs.items(), 1):
        wait = stall_s if number == len(rungs) else 0.0
        at += wait
        for _ in range(round(seconds * 50)):
            one.frame(at, np.zeros(441, np.int16), rung, int(wait > 0), wait)
            one.look(at, 1.0)
            at += 0.02
    one.complete, one.length = True, one.rendered
    return one


def picture(*accounts: Account, link: Scenario = LINK, note: str = "a note") -> ElementTree.Element:
    arms = [Shown(one, [Piece(0.1, 0, "opus24", 0, 5), Piece(0.4, 1, "pcm22", 0, 5)]) for one in accounts]
    return ElementTree.fromstring(draw(arms, link, "Headline", note))


def fills(root: ElementTree.Element) -> list[str]:
    return [element.get("fill", "") for element in root.iter(f"{SVG}rect")]


def words(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def test_every_rung_that_was_heard_has_its_colour_and_its_name():
    root = picture(account({"pcm22": 4, "pcm16k": 3, "opus24": 3, "opus12": 2}))
    for rung in ("pcm22", "pcm16k", "opus24", "opus12"):
        assert COLOURS[rung] in fills(root)
        assert name_of(rung) in words(root)


def test_silence_is_red_and_where_there_is_none_nothing_is():
    assert STALL not in ElementTree.tostring(picture(account({"pcm22": 4, "opus24": 2})), "unicode")
    root = picture(account({"pcm22": 4, "opus24": 2}, stall_s=1.5))
    red = [element for element in root.iter(f"{SVG}rect") if element.get("fill") == STALL]
    scale = (WIDTH - LEFT - RIGHT) / (0.3 + 4 + 1.5 + 2)
    strips = [element for element in red if element.get("height") == "30"]
    assert len(strips) == 1
    assert float(strips[0].get("x", "")) == pytest.approx(LEFT + 4.3 * scale, abs=1)
    assert float(strips[0].get("width", "")) == pytest.approx(1.5 * scale, abs=1)
    assert "1 stall, 1.5 s of silence" in words(root)


def test_everything_lies_within_the_picture():
    root = picture(account({"pcm22": 30}), account({"pcm22": 20, "pcm16k": 20}, 4.0, "fixed"))
    height = float(root.get("height", ""))
    for element in root.iter(f"{SVG}rect"):
        x, y, width, tall = (float(element.get(key, "")) for key in ("x", "y", "width", "height"))
        assert x >= 0 and y >= 0 and x + width <= WIDTH + 0.1 and y + tall <= height + 0.1
        assert width >= 0 and tall >= 0
    for element in root.iter(f"{SVG}path"):
        numbers = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", element.get("d", ""))]
        assert all(0 <= x <= WIDTH for x in numbers[::2]) and all(0 <= y <= height for y in numbers[1::2])


def test_a_link_that_repeats_is_drawn_round_after_round():
    way = Direction(((0.0, 800.0), (1.0, 100.0)), 0.02)
    root = picture(account({"pcm22": 5}), link=Scenario("short", 2.0, way, way))
    assert words(root).count("800 kbit/s") == 3
    assert words(root).count("100 kbit/s") == 2


def test_a_dead_link_and_a_steady_one_can_be_drawn():
    way = Direction(((0.0, 0.0), (4.0, 64.0)), 0.02)
    assert "nothing" in words(picture(account({"opus24": 5}), link=Scenario("dead", 60, way, way)))
    assert "5 Mbit/s" in words(picture(account({"opus24": 5}), link=steady(5000)))


def test_an_arm_that_heard_nothing_is_drawn_without_complaint():
    silent = Account("fixed", "Fixed", 22_050)
    assert "no stall; cut off after 0 s of speech" in words(picture(silent, silent))
    assert verdict(silent).startswith("no stall; cut")


def test_words_that_mean_something_in_xml_are_written_as_words():
    assert "<b> & 'q'" in words(picture(account({"pcm22": 1}), note="<b> & 'q'"))
    assert ElementTree.fromstring(str(Svg(10, 10, "a < b", 'x "&" y'))).findtext(f"{SVG}title") == "a < b"
