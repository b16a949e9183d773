"""The pace of a clip, in virtual time."""

import json
import math
from pathlib import Path

import pytest

from abr_tts.client.pace import Pace

FILE = Path(__file__).parents[2] / "protocol" / "vectors" / "pace.json"
VECTORS = json.loads(FILE.read_text(encoding="utf-8"))["vectors"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_a_clip_waits_as_long(vector):
    pace = Pace()
    for step in vector["steps"]:
        if "rate" in step:
            pace.set(step["rate"], step["at"])
        elif "sent" in step:
            pace.sent(step["sent"], step["at"])
        elif step["wait"] is None:
            assert pace.wait(step["size"], step["at"]) == math.inf
        else:
            assert pace.wait(step["size"], step["at"]) == pytest.approx(step["wait"], abs=1e-3)


def test_in_the_long_run_no_more_goes_than_the_rate_and_a_burst():
    pace, now, sent = Pace(), 0.0, 0
    pace.set(80, now)  # 10 000 bytes a second
    while now < 20:
        now += pace.wait(700, now) + 1e-9
        pace.sent(700, now)
        sent += 700
    assert 10_000 * 20 <= sent <= 10_000 * 21 + 700
