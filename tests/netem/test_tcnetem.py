"""A scenario as commands of tc: the exact lines, and that tc itself takes them."""

import shutil
import subprocess
from dataclasses import replace

import pytest

from abr_tts.sim.link import Link
from abr_tts.sim.scenario import Bursts, Direction, Scenario, steady

ALL = Scenario(
    "all of it",
    10.0,
    Direction(
        rate=((0.0, 800.0), (2.0, 300.0), (4.0, 0.0), (6.0, 800.0)),
        delay_s=0.05,
        jitter_s=0.03,
        queue_bytes=32_768,
        drop_windows=((7.0, 9.0),),
        loss=0.02,
    ),
    Direction(((0.0, 2000.0),), 0.05),
)
"""Rate steps, an outage that holds (4 to 6 s), one that drops (7 to 9 s), delay, jitter, loss."""

NETEM = "qdisc {verb} dev link root handle 1: netem limit 10000 delay 50ms{rest} rate 10gbit"
BUCKET = "qdisc {verb} dev link parent 1:1 handle 10: tbf rate {bps}bit burst 1540 limit {queue}"


@pytest.fixture
def tcnetem():
    import tcnetem

    return tcnetem


def netem(verb: str, rest: str) -> str:
    return "tc " + NETEM.format(verb=verb, rest=rest)


def bucket(verb: str, bps: int, queue: int = 32_768) -> str:
    return "tc " + BUCKET.format(verb=verb, bps=bps, queue=queue)


def test_the_exact_commands_of_steps_jitter_loss_and_both_kinds_of_outage(tcnetem):
    told = [(side, round(step.at, 6), step.line) for side, step in tcnetem.both(ALL, 13.0)]
    wanted = [
        ("server", 0.0, netem("replace", " 30ms loss random 2%")),
        ("server", 0.0, bucket("replace", 800_000)),
        ("client", 0.0, netem("replace", "")),
        ("client", 0.0, bucket("replace", 2_000_000, 65_536)),
        ("server", 2.0, bucket("change", 300_000)),
        ("server", 4.0, bucket("change", 64)),
        ("server", 6.0, bucket("change", 800_000)),
        ("server", 7.0, netem("change", " 30ms loss random 100%")),
        ("server", 9.0, netem("change", " 30ms loss random 2%")),
        ("server", 12.0, bucket("change", 300_000)),
    ]
    assert told == wanted


def test_the_schedule_begins_anew_after_its_round_and_says_so_only_where_something_changes(tcnetem):
    turn = replace(ALL, down=replace(ALL.down, rate=((0.0, 100.0), (3.0, 200.0)), drop_windows=(), loss=0.0))
    lines = [step for _, step in tcnetem.both(turn, 25.0) if step.at > 0]
    assert [(step.at, step.arguments[10]) for step in lines] == [
        (3.0, "200000bit"), (10.0, "100000bit"), (13.0, "200000bit"), (20.0, "100000bit"),
        (23.0, "200000bit"),
    ]  # fmt: skip


def test_spells_of_loss_are_those_of_virtual_time(tcnetem):
    down = Direction(((0.0, 10_000.0),), 0.0, bursts=Bursts(2.0, 1.0, 0.0, 1.0))
    seed = "1/1/down"
    steps = [step for step in tcnetem.steps(down, 60.0, 60.0, seed) if step.arguments[1] == "change"]
    assert len(steps) > 5
    edges = [step.at for step in steps]
    assert edges == sorted(edges)
    lossy = {round(step.at, 2): "100%" in step.arguments for step in steps}
    link, state = Link(down, 60.0, seed), False
    for tick in range(6000):
        state = lossy.get(round(tick / 100, 2), state)
        edge = min(abs(tick / 100 - at) for at in edges)
        arrives = link.send(100, tick / 100) is not None
        assert arrives != state or edge < 0.02


def test_losses_one_by_one_and_in_spells_add_up(tcnetem):
    down = Direction(((0.0, 100.0),), 0.0, loss=0.5, bursts=Bursts(1.0, 1.0, 0.2, 0.2))
    shares = [step.arguments[step.arguments.index("random") + 1]
              for step in tcnetem.steps(down, 10.0, 10.0, "s") if "random" in step.arguments]  # fmt: skip
    assert shares[-1] == "60%"


def test_the_script_waits_between_the_steps_and_names_the_sides(tcnetem):
    lines = tcnetem.script(ALL, 5.0).splitlines()
    assert lines[0] == "#!/bin/sh"
    assert f"ip netns exec server {netem('replace', ' 30ms loss random 2%')}" in lines
    at = lines.index("sleep 2.000  # 2.000 s")
    assert lines[at + 1] == f"ip netns exec server {bucket('change', 300_000)}"
    assert lines[at + 2] == f"ip netns exec server {tcnetem.WAKE}"
    assert lines[at + 3] == "sleep 2.000  # 4.000 s"


@pytest.fixture
def in_a_namespace():
    """Runs shell lines in a network namespace that is gone afterwards, with a device `link`."""
    if shutil.which("tc") is None or shutil.which("unshare") is None:
        pytest.skip("tc or unshare is missing (Debian: iproute2, util-linux)")

    def run(lines: list[str]) -> subprocess.CompletedProcess[str]:
        shell = "\n".join(["ip link add name link type veth peer name other || exit 77", *lines])
        done = subprocess.run(["unshare", "--net", "sh", "-c", shell], capture_output=True, text=True)
        if done.returncode == 77 or "Operation not permitted" in done.stderr:
            pytest.skip(f"no namespace of our own: {done.stderr}")
        return done

    return run


def test_tc_takes_every_command_or_lacks_but_the_kernels_netem(tcnetem, in_a_namespace):
    commands = dict.fromkeys(step.line for _, step in tcnetem.both(ALL, 13.0))
    if tcnetem.missing() is None:
        done = in_a_namespace([f"{line} || exit 1" for line in commands])
        assert (done.returncode, done.stderr) == (0, "")
        return
    for line in commands:
        if " netem " in line:
            line = line.replace("qdisc change", "qdisc replace")  # or it would ask for what there is
            assert "qdisc kind is unknown" in in_a_namespace([line]).stderr


def test_the_kernel_takes_the_token_bucket_down_to_the_rate_that_holds(tcnetem, in_a_namespace):
    lines = [bucket("replace", bps).replace("parent 1:1", "root") for bps in (800_000, tcnetem.HOLD_BPS)]
    done = in_a_namespace([*(f"{line} || exit 1" for line in lines), "tc -s qdisc show dev link"])
    if "qdisc kind is unknown" in done.stderr:
        pytest.skip("this kernel has no token bucket")
    assert (done.returncode, done.stderr) == (0, "")
    assert "rate 64bit" in done.stdout


def test_a_kernel_without_netem_says_so_before_anything_is_made(tcnetem, monkeypatch):
    from tun import NetemError

    monkeypatch.setattr(tcnetem.NetemLink, "missing", staticmethod(lambda: "the kernel refuses netem: no"))
    with pytest.raises(NetemError, match="refuses netem"), tcnetem.NetemLink(steady(100)):
        pass
