"""Policies that change while the server runs: what is taken, what is kept, what is gone back to."""

from pathlib import Path

import pytest

from abr_tts.errors import ConfigError
from abr_tts.server.access.auth import Caller
from abr_tts.server.config import load
from abr_tts.server.rollout.policies import Policies
from abr_tts.server.rollout.rollout import NoCanary, NothingToRollBack, Rollout
from abr_tts.server.rollout.slots import KEPT, Change
from abr_tts.server.rollout.watch import SETTLE_S

from .test_watch import ConfigMap

ANYBODY = Caller("192.0.2.7", session="s1")
ANNA = Caller("192.0.2.7", "anna", "a1", "s2")


class World:
    """A server's policies with their files in a folder, and a clock that is told."""

    def __init__(self, folder: Path, keys: tuple[str, ...] = (), **settings) -> None:
        self.folder, self.told, self.now = folder, [], 0.0
        self.own = folder / "own.toml"
        if not self.own.exists() and not self.own.is_symlink():
            self.own.write_text(lead(3))
        overrides = {name.replace("__", "."): value for name, value in settings.items()}
        self.policies = Policies(load(overrides={"stream.policy": str(self.own)} | overrides), keys)
        self.rollout = Rollout(self.policies, self.told.append)

    def pass_by(self, seconds: float = SETTLE_S) -> list[Change]:
        """Look, and look again this much later."""
        first = self.rollout.take(self.rollout.look(), self.now)
        self.now += seconds
        return first + self.rollout.take(self.rollout.look(), self.now)

    def say(self, text: str, path: Path | None = None) -> list[Change]:
        (path or self.own).write_text(text)
        return self.pass_by()

    def lead(self, name: str | None = None, caller: Caller = ANYBODY) -> float:
        """By which number the tests tell policies apart."""
        return self.policies.choose(name, caller).upgrade_lead_s


def lead(seconds: float) -> str:
    return f"upgrade_lead_s = {seconds}\n"


def outcomes(changes: list[Change]) -> list[tuple[str, str]]:
    return [(change.setting, change.outcome) for change in changes]


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


# ---------------------------------------------------------------- files


def test_a_changed_file_is_taken_by_new_streams_and_an_old_one_keeps_what_it_got(world):
    old = world.policies.choose(None, ANYBODY)
    assert outcomes(world.say(lead(4))) == [("stream.policy", "applied")]
    assert (old.upgrade_lead_s, world.lead()) == (3, 4)
    assert world.pass_by() == [], "it is taken once"


def test_a_file_is_not_taken_before_it_has_settled(world):
    world.own.write_text(lead(4))
    assert world.pass_by(SETTLE_S - 0.01) == [] and world.rollout.unsettled and world.lead() == 3
    assert outcomes(world.pass_by(0.01)) == [("stream.policy", "applied")]


def test_a_config_map_that_is_swapped_is_taken(tmp_path):
    folder = tmp_path / "mount"
    folder.mkdir()
    mount = ConfigMap(folder, lead(3))
    world = World(tmp_path, stream__policy=str(mount.file))
    mount.swap(lead(5))
    assert outcomes(world.pass_by()) == [("stream.policy", "applied")]
    assert world.lead() == 5
    mount.swap(lead(5) + "# another comment\n")
    assert outcomes(world.pass_by()) == [("stream.policy", "unchanged")]


BAD = [
    ("upgrade_lead_s = 999\n", "own.toml:1: upgrade_lead_s is 999, but must be at most 60"),
    ("hedroom = 2\n", "own.toml:1: hedroom: unknown key; did you mean headroom?"),
    ("[[rung", "own.toml:1: not TOML"),
    (f"headroom = 1{'0' * 400}\n", "own.toml:1: headroom is 10000000000000000000, but must be at most"),
    ("headroom = " + "[" * 4_000, "own.toml: not TOML that can be read"),
    ("#" * 70_000, "own.toml: is longer than 65536 bytes"),
]


@pytest.mark.parametrize(("text", "words"), BAD, ids=[words for _, words in BAD])
def test_a_bad_file_keeps_the_last_good_one_and_says_so_once(world, text, words):
    world.say(lead(4))
    told = world.say(text)
    assert outcomes(told) == [("stream.policy", "refused")]
    assert words in told[0].words and told[0].words.endswith(") is in use")
    assert world.lead() == 4
    assert world.pass_by() == []
    assert len(world.rollout.faults) == 1 and words in world.rollout.faults[0]


def test_a_file_that_is_gone_keeps_the_last_good_one(world):
    world.own.unlink()
    assert outcomes(world.pass_by()) == [("stream.policy", "refused")]
    assert world.lead() == 3 and "there is no such policy file" in world.rollout.faults[0]


def test_a_bad_file_that_is_put_right_has_no_fault_any_more(world):
    world.say("nonsense")
    assert outcomes(world.say(lead(3))) == [("stream.policy", "unchanged")]
    assert world.rollout.faults == []
    world.say("nonsense")
    assert outcomes(world.say(lead(5))) == [("stream.policy", "applied")]
    assert world.rollout.faults == [] and world.lead() == 5


def test_what_anybody_may_read_names_the_file_without_its_folder(world):
    world.say("hedroom = 2\n")
    (fault,) = world.rollout.summary()["policy_faults"]
    assert fault.startswith("stream.policy: own.toml:1: hedroom") and str(world.folder) not in fault


def test_whoever_asks_is_served_at_once_and_told_when_there_is_nothing_new(world):
    world.own.write_text(lead(4))
    assert outcomes(world.rollout.take(world.rollout.look(), 0.0, at_once=True)) == [
        ("stream.policy", "applied")
    ]
    (change,) = world.rollout.take(world.rollout.look(), 0.0, at_once=True)
    assert (change.outcome, change.words) == ("unchanged", "no policy file has changed")


def test_files_of_offered_policies_and_of_keys_change_too_each_alone(tmp_path):
    quick, annas = tmp_path / "quick.toml", tmp_path / "annas.toml"
    quick.write_text(lead(1))
    annas.write_text(lead(2))
    world = World(
        tmp_path, ("anna",), stream__policies={"quick": str(quick)}, auth__policies={"anna": str(annas)}
    )
    assert outcomes(world.say(lead(1.5), quick)) == [("stream.policies.quick", "applied")]
    assert (world.lead("quick"), world.lead(), world.lead(None, ANNA)) == (1.5, 3, 2)
    assert outcomes(world.say(lead(2.5), annas)) == [("auth.policies.anna", "applied")]
    assert (world.lead("quick"), world.lead(), world.lead(None, ANNA)) == (1.5, 3, 2.5)


def test_a_setting_that_names_an_offered_policy_changes_with_it(tmp_path):
    quick = tmp_path / "quick.toml"
    quick.write_text(lead(1))
    world = World(tmp_path, stream__policies={"quick": str(quick)}, stream__policy="quick")
    assert outcomes(world.say(lead(2), quick)) == [("stream.policies.quick", "applied")]
    assert world.lead() == world.lead("quick") == 2


def test_presets_alone_are_nothing_to_look_at(tmp_path):
    assert not World(tmp_path, stream__policy="classic", canary__policy="opus").rollout.has_files
    assert World(
        tmp_path, stream__policy="classic", canary__policy=str(tmp_path / "b.toml")
    ).rollout.has_files


# ---------------------------------------------------------------- rollback


def test_a_rollback_goes_back_one_version_a_call_and_then_there_is_none(world):
    world.say(lead(4))
    world.say(lead(5))
    change = world.rollout.rollback()
    assert (change.setting, change.outcome, world.lead()) == ("stream.policy", "rolled_back", 4)
    world.rollout.rollback()
    assert world.lead() == 3
    with pytest.raises(NothingToRollBack):
        world.rollout.rollback()
    assert world.lead() == 3 and [change.outcome for change in world.told][-2:] == ["rolled_back"] * 2


def test_what_was_rolled_back_is_not_taken_again_while_its_file_goes_on_saying_it(world):
    world.say(lead(4))
    world.rollout.rollback()
    assert world.pass_by() == []
    assert "was rolled back" in world.rollout.faults[0]
    assert outcomes(world.say(lead(4) + "# deployed again\n")) == [("stream.policy", "held")]
    assert world.lead() == 3 and "was rolled back" in world.rollout.faults[0]
    world.rollout.take(world.rollout.look(), world.now, at_once=True)
    assert world.lead() == 3, "nor when somebody asks"


def test_each_of_several_that_were_rolled_back_is_held(world):
    world.say(lead(4))
    world.say(lead(5))
    world.rollout.rollback()
    world.rollout.rollback()
    for seconds in (5, 4):
        assert outcomes(world.say(lead(seconds) + "#\n")) == [("stream.policy", "held")]


def test_what_is_said_after_two_rollbacks_names_the_version_in_use_and_what_ends_it(world):
    world.say(lead(4))
    world.say(lead(5))
    world.rollout.rollback()
    left = world.policies.own.version
    words = world.rollout.rollback().words
    now = world.policies.own.version
    until = f"{world.own} says one that was not rolled back"
    assert words == f"{left} was rolled back; {now} is in use until {until}"


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (None, "no policy has an earlier version, and no canary is in use"),
        ("stream.policy", "stream.policy has no earlier version"),
        ("stream.polcy", "no policy is set by 'stream.polcy'"),
    ],
)
def test_why_there_is_nothing_to_roll_back_is_said(world, setting, words):
    with pytest.raises(NothingToRollBack) as caught:
        world.rollout.rollback(setting)
    assert str(caught.value) == f"nothing to roll back: {words}"


def test_without_a_canary_there_is_no_share_of_it(world):
    with pytest.raises(NoCanary, match=r"this server has no canary to share out; see canary\.policy"):
        world.rollout.set_share(0)
    assert world.told == []


def test_another_text_is_taken_after_a_rollback_and_then_the_old_one_again(world):
    world.say(lead(4))
    world.rollout.rollback()
    assert outcomes(world.say(lead(6))) == [("stream.policy", "applied")]
    assert world.rollout.faults == [] and world.lead() == 6
    assert outcomes(world.say(lead(4))) == [("stream.policy", "applied")]


def test_a_file_that_follows_the_rollback_is_in_step_again(world):
    world.say(lead(4))
    world.rollout.rollback()
    assert outcomes(world.say(lead(3))) == [("stream.policy", "unchanged")]
    assert world.rollout.faults == []
    assert outcomes(world.say(lead(4))) == [("stream.policy", "applied")], "somebody wants it after all"


def test_a_bad_file_is_nothing_to_go_back_from(world):
    world.say("nonsense")
    with pytest.raises(NothingToRollBack, match="nothing to roll back: no policy has an earlier version"):
        world.rollout.rollback()


def test_as_many_versions_are_kept_as_are_said_and_no_more(world):
    for seconds in range(4, 4 + KEPT + 1):
        world.say(lead(seconds))
    for _ in range(KEPT):
        world.rollout.rollback()
    assert world.lead() == 4, "the first one, 3, is forgotten"
    with pytest.raises(NothingToRollBack):
        world.rollout.rollback()


# ---------------------------------------------------------------- canary


def trying(folder: Path, share: float = 1.0, **settings) -> World:
    (folder / "b.toml").write_text(lead(1))
    return World(folder, ("anna",), canary__policy=str(folder / "b.toml"), canary__share=share, **settings)


def test_a_canary_begins_changes_and_ends_with_its_file(tmp_path):
    b = tmp_path / "b.toml"
    world = World(tmp_path, canary__policy=str(b), canary__share=1.0)
    assert world.lead() == 3 and world.rollout.faults == [], "no file yet is no fault"
    assert outcomes(world.say(lead(1), b)) == [("canary.policy", "applied")]
    assert world.lead() == 1
    assert outcomes(world.say("nonsense", b)) == [("canary.policy", "refused")]
    assert world.lead() == 1, "the last good one"
    assert outcomes(world.say(lead(2), b)) == [("canary.policy", "applied")]
    assert world.lead() == 2
    b.unlink()
    assert outcomes(world.pass_by()) == [("canary.policy", "ended")]
    assert world.lead() == 3


def test_a_request_that_names_a_policy_and_a_key_that_has_one_never_get_the_canary(tmp_path):
    world = trying(tmp_path, auth__policies={"anna": "thrifty"})
    assert world.lead() == 1
    assert world.policies.choose(None, ANNA).name == "thrifty"
    assert world.policies.choose("own", ANYBODY).name == "own"
    assert world.policies.choose("classic", ANYBODY).name == "classic"
    assert world.policies.choose("classic", ANNA).name == "classic", "the request before the key"


def test_a_share_of_sessions_gets_the_canary_and_each_session_keeps_its_side(tmp_path):
    world = trying(tmp_path, share=0.1)
    sessions = [Caller(session=f"{number:016x}") for number in range(4000)]

    def tried() -> set[str]:
        return {caller.session for caller in sessions if world.lead(None, caller) == 1}

    tenth = tried()
    assert 0.08 < len(tenth) / len(sessions) < 0.12  # five standard deviations are .024
    assert tried() == tenth
    world.rollout.set_share(0.5)
    half = tried()
    assert tenth < half and 0.46 < len(half) / len(sessions) < 0.54
    world.say(lead(1) + "low_lead_s = 1\n", tmp_path / "b.toml")
    assert tried() == half, "a new version of it goes to the same sessions"


@pytest.mark.parametrize(("share", "tried"), [(0.0, 0), (1.0, 200)])
def test_a_share_of_none_is_nobody_and_of_one_everybody(tmp_path, share, tried):
    world = trying(tmp_path, share)
    assert sum(world.lead(None, Caller(session=str(n))) == 1 for n in range(200)) == tried


@pytest.mark.parametrize("share", [-0.001, 1.001, float("nan"), 10**400])
def test_a_share_that_is_none_is_refused_and_changes_nothing(tmp_path, share):
    world = trying(tmp_path, 0.25)
    with pytest.raises(ValueError, match="from 0 to 1"):
        world.rollout.set_share(share)
    assert world.rollout.status()["canary_share"] == 0.25
    if share < 2:
        with pytest.raises(ConfigError, match=r"canary\.share|share"):
            load(overrides={"canary.share": share})


def test_who_has_no_session_has_no_canary(tmp_path):
    assert trying(tmp_path).lead(None, Caller()) == 3


def test_a_rollback_ends_the_canary_whatever_versions_it_had_and_holds_it(tmp_path):
    world = trying(tmp_path)
    world.say(lead(2), tmp_path / "b.toml")
    assert world.policies.canary.earlier == (), "there is nothing to go back to but none"
    assert world.rollout.rollback().setting == "canary.policy"
    assert world.lead() == 3
    assert outcomes(world.say(lead(2) + "#\n", tmp_path / "b.toml")) == [("canary.policy", "held")]
    assert outcomes(world.say(lead(2.5), tmp_path / "b.toml")) == [("canary.policy", "applied")]


def test_of_several_roll_outs_the_latest_is_undone_first_unless_a_setting_is_named(tmp_path):
    world = trying(tmp_path)
    world.say(lead(4))
    assert world.rollout.rollback("canary.policy").setting == "canary.policy"
    world.say(lead(1.5), tmp_path / "b.toml")
    assert [world.rollout.rollback().setting for _ in range(2)] == ["canary.policy", "stream.policy"]
    with pytest.raises(NothingToRollBack, match=r"stream\.policy has no earlier version"):
        world.rollout.rollback("stream.policy")


def test_a_preset_may_be_tried_and_a_rollback_ends_it(tmp_path):
    world = World(tmp_path, canary__policy="thrifty", canary__share=1.0)
    assert world.policies.choose(None, ANYBODY).name == "thrifty"
    world.rollout.rollback()
    assert world.policies.choose(None, ANYBODY).name == "own"
    assert "until the server starts anew" in world.rollout.faults[0]


@pytest.mark.parametrize(
    ("policy", "words"),
    [("clasic", "canary.policy: no policy 'clasic'"), ("{folder}/bad.toml", "canary.policy: {folder}/bad")],
)
def test_a_canary_that_is_misspelt_or_bad_is_told_at_the_start(tmp_path, policy, words):
    (tmp_path / "bad.toml").write_text("hedroom = 1")
    with pytest.raises(ConfigError) as caught:
        World(tmp_path, canary__policy=policy.format(folder=tmp_path))
    assert words.format(folder=tmp_path) in str(caught.value)


# ---------------------------------------------------------------- told


def test_the_status_tells_each_setting_with_what_was_before_and_what_is_wrong(world):
    world.say(lead(4))
    world.say("nonsense")
    told = {one["setting"]: one for one in world.rollout.status()["settings"]}
    own = told["stream.policy"]
    assert (own["name"], own["file"], own["can_roll_back"]) == ("own", str(world.own), True)
    assert [one["name"] for one in own["earlier"]] == ["own"]
    assert own["earlier"][0]["hash"] != own["hash"] and "not TOML" in own["fault"]
    assert told["stream.policies.classic"]["file"] is None and not told["stream.policies.classic"]["fault"]
