"""Options and folders: what cannot be is refused in one sentence, before a second is lost."""

import asyncio
import os
import sys

import pytest

from abr_tts.engine.cosyvoice import CosyVoice, loading
from abr_tts.engine.cosyvoice.options import parse
from abr_tts.errors import EngineError, MissingDependency

from .checkout import make_weights
from .engines import loaded, pool_of


@pytest.mark.parametrize(
    "options, words",
    [
        ({"fp15": True}, "did you mean fp16"),
        ({"stream": "no"}, "stream is of type bool"),
        ({"fade_in_ms": True}, "fade_in_ms is of type float"),
        ({"fade_in_ms": 201}, "from 0 to 200"),
        ({"tail_guard_ms": -1}, "from 0 to 200"),
        ({"stream_scale_factor": 0}, "from 1 to 4"),
        ({"device": "cuda:1"}, "engine.devices"),
        ({"model_dir": ""}, "--model-dir"),
    ],
)
def test_an_option_that_cannot_be_is_refused_by_name(options, words):
    with pytest.raises(EngineError, match=words):
        parse({"model_dir": "m", **options})


def test_the_bounds_themselves_are_allowed():
    assert parse({"model_dir": "m", "fade_in_ms": 200, "stream_scale_factor": 4}).fade_in_ms == 200


@pytest.mark.parametrize("version", [1, 2, 3])
def test_the_class_is_chosen_by_what_the_folder_holds(checkout, weights, version, monkeypatch):
    engine = loaded(checkout, weights[version], monkeypatch)
    assert engine.abilities.version == loading.CLASSES[version]
    assert engine.sample_rate == engine.voices[0].sample_rate == (22_050 if version == 1 else 24_000)


def test_a_folder_without_weights_or_no_folder_is_named(tmp_path):
    with pytest.raises(EngineError, match="holds none of cosyvoice"):
        loading.version_of(tmp_path)
    with pytest.raises(EngineError, match=r"no folder .*elsewhere"):
        loading.version_of(tmp_path / "elsewhere")


def test_a_path_that_is_no_checkout_or_lacks_its_submodule_is_told(tmp_path, weights):
    with pytest.raises(EngineError, match="no cosyvoice/cli in it"):
        loading.prepare(parse({"model_dir": weights[2], "path": str(tmp_path)}))
    (tmp_path / "cosyvoice" / "cli").mkdir(parents=True)
    with pytest.raises(EngineError, match="git submodule update"):
        loading.prepare(parse({"model_dir": weights[2], "path": str(tmp_path)}))


def test_a_version_that_the_copy_of_cosyvoice_does_not_have_is_a_missing_dependency(
    old_checkout, weights, monkeypatch
):
    with pytest.raises(MissingDependency, match="no CosyVoice3"):
        loaded(old_checkout, weights[3], monkeypatch)


def test_without_cosyvoice_the_message_says_where_to_name_it(weights, monkeypatch):
    monkeypatch.setitem(sys.modules, "cosyvoice", None)
    with pytest.raises(MissingDependency, match=r"engine\.python.*engine\.options\.path"):
        loaded(None, weights[2], monkeypatch)


def test_what_the_constructor_takes_is_passed_and_what_it_does_not_is_refused(checkout, weights, monkeypatch):
    engine = loaded(checkout, weights[2], monkeypatch, fp16=True, load_vllm=True)
    assert engine._variant.model.switches == {"load_vllm": True, "fp16": True}
    with pytest.raises(EngineError, match="CosyVoice of this CosyVoice takes no load_vllm"):
        loaded(checkout, weights[1], monkeypatch, load_vllm=True)
    with pytest.raises(EngineError, match="takes no backbone"):
        loaded(checkout, weights[2], monkeypatch, constructor={"backbone": "blanken"})


def test_a_fork_that_must_be_told_that_its_weights_are_final_is_told(tmp_path):
    def build(model_dir, setting="original", final=False):
        raise AssertionError("not called")

    options = parse({"model_dir": str(tmp_path)})
    assert loading.arguments_for(build, options) == {}
    (tmp_path / "llm.pt").touch()
    assert loading.arguments_for(build, options) == {"final": True}


def test_the_cpu_is_chosen_before_torch_can_see_a_gpu(monkeypatch, weights):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    monkeypatch.setenv("TQDM_DISABLE", "1")
    loading.prepare(parse({"model_dir": weights[2], "device": "cpu"}))
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ""


@pytest.mark.parametrize("asked", [{"device": "cuda"}, {"fp16": True}, {"load_trt": True}])
def test_without_a_gpu_what_needs_one_is_refused_and_not_forgotten(checkout, weights, monkeypatch, asked):
    class Torch:
        class cuda:
            is_available = staticmethod(lambda: False)

    monkeypatch.setitem(sys.modules, "torch", Torch)
    with pytest.raises(EngineError, match="needs a GPU"):
        loaded(checkout, weights[2], monkeypatch, **asked)


def test_weights_that_do_not_fit_end_the_start_with_the_reason(checkout, tmp_path):
    broken = make_weights(tmp_path / "broken")

    async def main():
        async with pool_of(checkout, broken):
            pass

    with pytest.raises(EngineError, match=r"CosyVoice2 cannot be built from .*the weights do not fit"):
        asyncio.run(main())


def test_loading_tells_how_far_it_is_and_ends_with_a_spoken_word(checkout, weights, clip, monkeypatch):
    loaded(checkout, weights[2], monkeypatch)  # puts the checkout on the path, for this test
    told = []
    options = {"path": checkout, "model_dir": weights[2], "voices": {"anna": {"audio": clip}}}
    CosyVoice().load(options, lambda sentence, share: told.append((sentence, share)))
    sentences, shares = zip(*told, strict=True)
    assert list(shares) == sorted(shares) and shares[-1] == 1.0
    assert sentences == (
        "importing CosyVoice", "reading the weights", "the voice anna", "speaking the first words", "ready",
    )  # fmt: skip
