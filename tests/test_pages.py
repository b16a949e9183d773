"""
The pages keep their word: their commands are ones that abr-tts has, and those on policies and roll-outs run.

Other commands run beside what they are about: tests/test_readme, tests/deploy, tests/client, tests/server.
"""

import itertools
import re
import shlex
import shutil

import pytest

from abr_tts.cli import _parser
from abr_tts.server.config import describe

from . import readme
from .ports import kept_port
from .test_readme import ROOT, Newcomer

SHELL = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
NETWORKS = ("cafe_wifi.json", "edge_2g.json")


def commands(text: str) -> list[list[str]]:
    """The commands of `abr-tts` in the shell's blocks of a page, without its name."""
    found = []
    for line in "\n".join(SHELL.findall(text)).replace("\\\n", " ").splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        for ends, part in itertools.groupby(words, lambda word: not word.strip("();<>|&")):
            name, *arguments = part
            if name == "abr-tts" and not ends:
                found.append(arguments)
    return found


EVERY = [(page.name, said) for page in readme.PAGES for said in commands(page.read_text("utf-8"))]


@pytest.mark.parametrize(("page", "said"), EVERY)
def test_a_command_of_a_page_is_one_that_abr_tts_has(page, said):
    asked = _parser().parse_args(said)
    known = {one.name for one in describe()}
    for name in (text.partition("=")[0] for text in getattr(asked, "set", None) or ()):
        assert name in known or name.startswith(("engine.options.", "engine.cluster.")), f"{page}: {name}"


def test_the_commands_of_every_page_are_looked_at():
    assert {page for page, _ in EVERY} >= {"README.md", "engines.md", "policies.md", "voices.md"}
    assert commands('```sh\npip x && abr-tts say "a && b" -o c > d  # e\nabr-tts \\\n  voices\n```\n') == [
        ["say", "a && b", "-o", "c"], ["voices"],
    ]  # fmt: skip


@pytest.fixture
def newcomer(tmp_path):
    with kept_port() as port:
        newcomer = Newcomer(tmp_path, port)
        newcomer.environment["ABR_TTS_ENGINE__KIND"] = "tone"
        yield newcomer


def policy(name: str) -> str:
    """The preset `opus` under another name."""
    text = (ROOT / "abr_tts" / "control" / "presets" / "opus.toml").read_text("utf-8")
    changed, times = re.subn('^name = "opus"$', f'name = "{name}"', text, flags=re.M)
    assert times == 1
    return changed


def test_a_policy_is_simulated_compared_and_tuned_as_its_page_says(newcomer):
    (newcomer.folder / "recordings").mkdir()
    for name in NETWORKS:
        shutil.copy(ROOT / "tools" / "netem" / "scenarios" / name, newcomer.folder / "recordings")
    (newcomer.folder / "mine.toml").write_text(policy("mine"), "utf-8")
    assert "QoE" in newcomer.run("simulate")
    assert "<svg" in (newcomer.folder / "out.html").read_text("utf-8")
    assert "mine" in newcomer.run("diff")
    newcomer.run("tune")
    assert 'name = "tuned"' in (newcomer.folder / "tuned.toml").read_text("utf-8")


@pytest.mark.parametrize("way", ["rollback", "rollback-curl"])
def test_a_policy_is_rolled_back_as_its_page_says(newcomer, way):
    if way == "rollback-curl" and not shutil.which("curl"):
        pytest.skip("curl is not installed")
    page = (ROOT / "docs" / "rollout.md").read_text("utf-8")
    (settings,) = re.findall(r"^```toml\n(\[stream\].*?)^```$", page, re.M | re.S)
    newcomer.run("admin-key")
    assert (newcomer.folder / "admin.keys").stat().st_mode & 0o777 == 0o600
    (newcomer.folder / "abr-tts.toml").write_text(settings, "utf-8")
    for name in ("policy", "canary"):
        (newcomer.folder / f"{name}.toml").write_text(policy(name), "utf-8")
    newcomer.environment["ABR_TTS_CANARY__POLICY"] = "canary.toml"
    with newcomer.serving("rollout"):
        told = newcomer.run(way)
        assert re.search(r"canary \(\w{12}\) was rolled back", told)
