"""What was rolled out and rolled back outlasts a restart, and a state file never stops a server."""

import asyncio
import json
from pathlib import Path

import pytest

from abr_tts.errors import ConfigError
from abr_tts.server.config import load as settings
from abr_tts.server.rollout.kept import FORMAT, Keeper, load
from abr_tts.server.rollout.policies import Policies
from abr_tts.server.rollout.rollout import NothingToRollBack, Rollout
from abr_tts.server.rollout.watch import SETTLE_S

from .harness import eventually, serving
from .test_rollout import ANYBODY, lead


class Life:
    """One server's life, from a start until it is written down."""

    def __init__(self, folder: Path, **given) -> None:
        self.folder, self.state, self.now = folder, folder / "state.json", 0.0
        sources = {"stream.policy": str(folder / "own.toml"), "canary.policy": str(folder / "b.toml")}
        self.policies = Policies(settings(overrides=sources | {"canary.share": 1.0}), (), load(self.state))
        self.told = []
        self.rollout = Rollout(self.policies, self.told.append)

    def say(self, text: str, name: str = "own.toml") -> str:
        """Write a file and let it be taken; the outcome."""
        (self.folder / name).write_text(text)
        self.rollout.take(self.rollout.look(), self.now)
        self.now += SETTLE_S
        return self.rollout.take(self.rollout.look(), self.now)[-1].outcome

    def ends(self) -> "Life":
        """It is written down, and another life begins."""
        asyncio.run(Keeper(self.state, self.policies.slots).save())
        return Life(self.folder)

    @property
    def lead(self) -> float:
        return self.policies.choose(None, ANYBODY).upgrade_lead_s


@pytest.fixture
def life(tmp_path):
    (tmp_path / "own.toml").write_text(lead(3))
    return Life(tmp_path)


def test_what_was_rolled_back_stays_so_after_a_restart_and_another_text_is_taken(life):
    life.say(lead(4))
    life.rollout.rollback()
    after = life.ends()
    assert after.lead == 3 and "was rolled back" in after.rollout.faults[0]
    assert after.say(lead(4) + "# again\n") == "held"
    assert after.say(lead(5)) == "applied"
    assert after.ends().rollout.faults == []


def test_what_can_be_gone_back_to_can_be_after_a_restart_too_in_the_same_order(life):
    life.say(lead(1), "b.toml")
    life.say(lead(4))
    life.say(lead(5))
    after = life.ends()
    for setting, own in (("stream.policy", 4), ("stream.policy", 3), ("canary.policy", 3)):
        assert after.rollout.rollback().setting == setting
        assert after.policies.own.version.policy.upgrade_lead_s == own
    assert after.lead == 3
    with pytest.raises(NothingToRollBack):
        after.rollout.rollback()


def test_what_is_rolled_out_after_a_restart_is_later_than_what_was_before_it(life):
    life.say(lead(4))
    life.say(lead(1), "b.toml")
    after = life.ends()
    after.say(lead(5))
    assert [after.rollout.rollback().setting for _ in range(2)] == ["stream.policy", "canary.policy"]


def test_a_file_that_changed_between_two_lives_is_a_roll_out_that_can_be_undone(life):
    life.say(lead(1), "b.toml")
    (life.folder / "own.toml").write_text(lead(6))
    after = life.ends()
    assert after.rollout.rollback().setting == "stream.policy"
    assert after.policies.own.version.policy.upgrade_lead_s == 3


def test_a_bad_file_at_the_start_keeps_the_last_good_one_if_there_is_a_state_and_else_is_refused(life):
    life.say(lead(4))
    assert life.say("nonsense") == "refused"
    after = life.ends()
    assert after.lead == 4 and "not TOML" in after.rollout.faults[0]
    life.state.unlink()
    with pytest.raises(ConfigError, match="not TOML"):
        Life(life.folder)


def test_a_canary_that_was_rolled_back_stays_out_and_one_whose_file_is_gone_is_over(life):
    life.say(lead(1), "b.toml")
    after = life.ends()
    assert after.lead == 1
    after.rollout.rollback()
    after = after.ends()
    assert after.lead == 3 and "canary.policy" in after.rollout.faults[0]
    (life.folder / "b.toml").unlink()
    after = after.ends()
    assert after.rollout.faults == []
    assert after.say(lead(1), "b.toml") == "applied", "put there again, it is wanted again"


def test_a_state_without_a_version_does_not_help_a_bad_file(life):
    life.state.write_text(state())
    (life.folder / "own.toml").write_text("nonsense")
    with pytest.raises(ConfigError, match=r"stream\.policy: .*own\.toml:1: not TOML"):
        Life(life.folder)


def state(**fields) -> str:
    """A state file of one setting, as it is written but for `fields`."""
    setting = {"version": None, "earlier": [], "held": []} | fields
    return json.dumps({"format": FORMAT, "settings": {"stream.policy": setting}})


@pytest.mark.parametrize(
    "text",
    [
        "", "nonsense", "[]", "3", "[" * 100_000, "{}",
        state().replace("1", "2"), '{"format": 1, "settings": []}', '{"format": 1, "settings": {"x": {}}}',
        state(held=["hedroom = 1"]), state(held=3), state(earlier=[3]), state(version=3),
        state(version={"number": 1, "policy": 3}), state(version={"number": "x", "policy": ""}),
    ],
)  # fmt: skip
def test_a_state_file_that_is_none_is_told_and_the_server_starts_without(life, text, caplog):
    life.state.write_text(text)
    assert load(life.state) == {}
    assert "is not used" in caplog.text and str(life.state) in caplog.text
    assert Life(life.folder).lead == 3


def test_where_nothing_can_be_written_the_start_is_refused(tmp_path):
    for path in (tmp_path / "no" / "state.json", tmp_path):
        with pytest.raises(ConfigError, match=r"rollout\.state_file: .* cannot be written"):
            load(path)


def test_a_disk_that_fails_later_is_logged_and_the_old_state_is_whole(life, caplog):
    life.ends()
    before = life.state.read_text()
    (life.folder / "state.json.new").mkdir()
    asyncio.run(Keeper(life.state, life.policies.slots).save())
    assert "state.json cannot be written: Is a directory" in caplog.text
    assert life.state.read_text() == before and json.loads(before)["format"] == FORMAT


async def test_a_server_that_restarts_remembers_a_rollback(tmp_path):
    own, state = tmp_path / "own.toml", tmp_path / "state.json"
    own.write_text(lead(3))
    given = {"stream__policy": str(own), "rollout__state_file": str(state), "rollout__check_s": 0}
    async with serving(**given) as server:
        first = server._front._rollout.summary()["policy"]["hash"]
        own.write_text(lead(4))
        server.reload()
        await eventually(lambda: len(json.loads(state.read_text())["settings"]["stream.policy"]["earlier"]))
        server._front._rollout.rollback()
        await server._keeper.save()
    async with serving(**given) as server:
        summary = server._front._rollout.summary()
        assert summary["policy"]["hash"] == first and "was rolled back" in summary["policy_faults"][0]


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "1e999", "NaN"])
def test_a_number_beyond_all_counting_in_a_state_file_is_told_and_the_server_starts(life, number, caplog):
    version = state(version={"number": 1, "policy": ""}).replace('"number": 1', f'"number": {number}')
    life.state.write_text(version)
    assert load(life.state) == {}
    assert "is not used" in caplog.text
    assert Life(life.folder).lead == 3
