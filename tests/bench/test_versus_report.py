"""From what was heard to figures and a table."""

import numpy as np
import pytest
from versus import report
from versus.plan import Said, Visit
from versus.session import Heard, Item
from versus.sound import Sounds

from abr_tts.sim.result import Utterance
from abr_tts.sim.scenario import steady
from abr_tts.sim.score import UTILITY

SILENCE = np.zeros(0, np.int16)


def item(seconds: float, stall_s: float = 0.0, rung: str = "opus24", start_s: float = 0.2) -> Item:
    record = Utterance(seconds, 0.0, startup_s=start_s, delivery_s=0.0, complete=True)
    record.stalls, record.stall_s = int(stall_s > 0), stall_s
    record.runs, record.wire_bytes = ((rung, seconds),), round(seconds * 4_000)
    return Item(Said(("x",), 0.0, seconds), record, SILENCE, SILENCE, 22_050, 0.0, 0.0, "")


def heard(*items: Item, kind: str = "lte") -> Heard:
    visit = Visit(steady(100), kind, 0.0, tuple(one.said for one in items))
    return Heard(visit, list(items), cpu_s=0.1, lags={"listener": [0.001], "server": [0.002]})


def test_figures_are_those_of_the_simulators_judge():
    found = report.figures([heard(item(4.0), item(6.0, stall_s=1.0))], Sounds(pesq=[3.0, 4.0]))
    assert found["stall_free_pct"] == 50.0
    assert found["stall_pct"] == 10.0
    assert found["stalled_s"] == 1.0
    assert found["qoe"] == pytest.approx(UTILITY["opus24"] - (4 * 1.0 + 0.25) / 10, abs=1e-4)
    assert found["bytes_per_s"] == 4_000
    assert found["pesq"] == 3.5
    assert found["visqol"] is None and found["wer_pct"] is None
    assert found["server_cpu_ms_per_s"] == 10.0
    assert found["loop_lag_ms"] == {"listener": 1.0, "server": 2.0}


def test_each_kind_of_network_stands_by_itself():
    found = report.figures([heard(item(5.0)), heard(item(5.0, stall_s=1.0), kind="hsdpa3g")], Sounds())
    assert found["kinds"]["lte"]["stall_pct"] == 0.0
    assert found["kinds"]["hsdpa3g"]["stall_pct"] == 20.0


def test_arms_are_compared_with_the_base_alone():
    base = [heard(item(5.0, stall_s=1.0)), heard(item(5.0))]
    better = [heard(item(5.0)), heard(item(5.0))]
    found = report.paired({"base": base, "better": better}, "base", seed=1)
    assert set(found) == {"better"}
    value, low, high = found["better"]["stall_pct"]
    assert value == -10.0 and low == -20.0 and high == 0.0


def test_the_table_is_markdown_with_a_line_for_each_arm():
    arms = {"base": [heard(item(5.0))], "better": [heard(item(5.0, rung="opus48"))]}
    result = {
        "arms": {name: report.figures(some, Sounds()) for name, some in arms.items()},
        "paired": {"base": report.paired(arms, "base", seed=1)},
    }
    lines = report.table(result).splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert [line.split("|")[1].strip() for line in lines] == ["arm", "---", "base", "better"]
    assert lines[3].rstrip(" |").endswith("+0.050 [+0.050, +0.050]")
