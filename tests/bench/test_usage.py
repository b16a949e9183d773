"""What a benchmark says before it measures anything: what there is, and what is missing."""

import sys

import pytest


def test_a_name_that_no_plan_of_splices_has_is_refused_with_those_that_there_are(monkeypatch, capsys):
    import seam

    monkeypatch.setattr(sys, "argv", ["seam.py", "--only", "speech"])
    monkeypatch.setattr(seam, "run", lambda *_: pytest.fail("it measures"))
    with pytest.raises(SystemExit) as caught:
        seam.main()
    assert caught.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "no plan's name contains 'speech'; there are: pairs pcm22>pcm16k, " in last
    assert "ranks opus24>pcm22" in last and "retunes opus48>opus32" in last and "controls hard_cut" in last


def test_splices_of_a_section_are_measured_alone(monkeypatch, capsys):
    import seam

    asked = []

    def run(wanted, processes):
        asked.extend(plan.name for plan in wanted)
        return seam.Report()

    monkeypatch.setattr(seam, "run", run)
    monkeypatch.setattr(sys, "argv", ["seam.py", "--only", "controls"])
    with pytest.raises(SystemExit) as caught:
        seam.main()
    assert (caught.value.code, asked) == (0, ["controls hard_cut", "controls no_lookahead"])
    assert capsys.readouterr().out.strip() == "", "no table of what was not measured"


@pytest.mark.parametrize("name", ["stalled_reader", "stale"])
def test_what_tls_needs_is_asked_for_before_anything_is_measured(monkeypatch, name):
    module = __import__(name)
    monkeypatch.setitem(sys.modules, "trustme", None)
    monkeypatch.setattr(module, "ServerProcess", lambda *_, **__: pytest.fail("it measures"))
    monkeypatch.setattr(sys, "argv", [f"{name}.py"] + (["--arm", "direct"] if name == "stale" else []))
    with pytest.raises(SystemExit, match=r"trustme is missing.*pip install '\.\[espeak,test\]'"):
        module.main()
