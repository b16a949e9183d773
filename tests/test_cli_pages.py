"""`abr-tts serve --demo` and the pages' setting, as they are typed."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

from abr_tts.cli import main

ROOT = Path(__file__).resolve().parent.parent
WAIT_S = 30


def served(folder: Path, *arguments: str) -> tuple[dict, list[Path]]:
    """What a server started so tells its page, and what lies in `folder`, its temporary one, meanwhile."""
    command = [sys.executable, "-m", "abr_tts", "serve", "--port", "0", "--engine", "tone", "--workers", "1"]
    process = subprocess.Popen(
        [*command, *arguments], cwd=ROOT, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"TMPDIR": str(folder)},
    )  # fmt: skip
    assert process.stderr is not None
    try:
        found = None
        while found is None:
            line = process.stderr.readline()
            assert line, "it ended"
            found = re.search(r"the page is (http://127\.0\.0\.1:\d+/)", line)
        with urllib.request.urlopen(f"{found[1]}page.json", timeout=WAIT_S) as answer:
            told = json.load(answer)
        folders = list(folder.iterdir())
        process.terminate()
        assert process.wait(WAIT_S) == 0
        return told, folders
    finally:
        process.kill()
        process.communicate()


def test_a_plain_server_tells_where_its_page_is_and_offers_no_link_to_spoil(tmp_path):
    told, folders = served(tmp_path)
    assert "demo" not in told and folders == []


def test_demo_opens_links_and_traces_and_leaves_no_folder_behind(tmp_path):
    told, folders = served(tmp_path, "--demo")
    assert told["demo"] and told["most_kbps"] == 100_000
    assert len(folders) == 1 and list(tmp_path.iterdir()) == []


def test_demo_records_where_it_is_told_to(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "temporary").mkdir()
    told, _ = served(tmp_path / "temporary", "--demo", "--record", str(tmp_path / "own" / "traces"))
    assert told["demo"] and (tmp_path / "own" / "traces").is_dir()


def test_demo_without_pages_is_refused(capsys):
    assert main(["serve", "--demo", "--engine", "tone", "--set", "web.enabled=false"]) == 2
    assert "--demo needs the pages: web.enabled is false" in capsys.readouterr().err
