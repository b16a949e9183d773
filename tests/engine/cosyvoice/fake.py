"""
A fake of CosyVoice's classes with the faults of the real ones, and no torch: numpy and threads.

Copied by `checkout.py` to `cosyvoice/cli/cosyvoice.py` of a folder that looks like a checkout. What is
true to life: generators that do nothing before the first `next()`; a thread for the tokens; dict entries
per uuid that a closed generator leaves behind; `token_hop_len` that only ever grows; a speed that is
ignored in pieces; a KeyError for an unknown speaker; an entry of the speaker table that a call writes to
and deletes from (before December 2025). What is not: the sound, of which every sample is known.

Words in a text make it misbehave, see `FAULTS`. The word `state` answers with three numbers instead of
speech: entries in the dicts, threads of jobs, prompts computed; in steps of 1/1000.
"""

import math
import re
import threading
import time
import uuid
import wave
from pathlib import Path

import numpy as np

HOT = 1.07
TOKENS_A_CHAR = 4
POLL_S = 0.01
FAULTS = {
    "hang": "half the tokens, then none, for ever",
    "raise": "half the tokens, then an exception in their thread",
    "explode": "an exception of the vocoder at the second piece",
    "choke": "a KeyError in the front end, at the first `next()`",
    "slow": "20 ms for each token",
    "steep": "each piece takes 3 s, in steps of 10 ms that the flow's estimator may leave",
}
OLD = Path(__file__).with_name("old").exists()


class Tensor:
    """What a generation yields: only the face of a tensor."""

    def __init__(self, samples):
        self._samples = samples
        self.shape = samples.shape

    def detach(self):
        return self

    cpu = float = detach

    def numpy(self):
        return self._samples


class Estimator:
    """A part of the flow that takes hooks, as a torch module does."""

    def __init__(self):
        self._hooks = []
        self.steps = 0

    def register_forward_pre_hook(self, hook):
        self._hooks.append(hook)

    def __call__(self):
        self.steps += 1
        for hook in self._hooks:
            hook(self, ())


class Model:
    """Tokens to sound, in pieces; see the module."""

    def __init__(self, version, rate):
        self.version = version
        self.samples_a_token = rate // (50 if version == 1 else 25)
        self.lock = threading.Lock()
        self.tts_speech_token_dict = {}
        self.llm_end_dict = {}
        self.hift_cache_dict = {}
        if version > 1:
            self.token_hop_len = 25
            self.token_max_hop_len = 100
        self.stream_scale_factor = 1 if version == 1 else 2
        self.flow = type("Flow", (), {})()
        self.flow.decoder = type("Decoder", (), {"estimator": Estimator()})()

    def llm_job(self, text, marked, this):
        if self.version == 3:
            assert marked, "<|endofprompt|> not detected"
        count = TOKENS_A_CHAR * len(text)
        for number in range(count):
            if number == count // 2:
                if "raise" in text:
                    raise RuntimeError("the language model failed")
                while "hang" in text and this in self.llm_end_dict:
                    time.sleep(POLL_S)
            if "slow" in text:
                time.sleep(0.02)
            self.tts_speech_token_dict[this].append(number)
        self.llm_end_dict[this] = True

    def vc_job(self, count, this):
        self.tts_speech_token_dict[this] = list(range(count))
        self.llm_end_dict[this] = True

    def tts(self, text="", marked=False, source=0, stream=False, speed=1.0):
        this = str(uuid.uuid1())
        with self.lock:
            self.tts_speech_token_dict[this], self.llm_end_dict[this] = [], False
            self.hift_cache_dict[this] = None
        job, arguments = (self.vc_job, (source,)) if source else (self.llm_job, (text, marked))
        thread = threading.Thread(target=job, args=(*arguments, this))
        thread.start()
        at, first = 0, True
        while stream:
            time.sleep(POLL_S)
            hop = getattr(self, "token_hop_len", 88)
            cut = hop - (4 if first and self.version > 1 else 0)  # the vocoder keeps a little back
            if len(self.tts_speech_token_dict[this]) - at >= hop + 3:
                yield self.piece(this, text, at, at + cut, first)
                at, first = at + cut, False
                if self.version > 1:
                    self.token_hop_len = min(self.token_max_hop_len, hop * self.stream_scale_factor)
            elif self.llm_end_dict[this]:
                break
        thread.join()
        end = len(self.tts_speech_token_dict[this])
        if stream or speed == 1.0:
            yield self.piece(this, text, at, end, first)
        else:
            yield self.piece(this, text, 0, int(end / speed), True)
        with self.lock:
            for entries in (self.tts_speech_token_dict, self.llm_end_dict, self.hift_cache_dict):
                entries.pop(this)

    def piece(self, this, text, begin, end, first):
        if "explode" in text and not first:
            raise RuntimeError("CUDA error: device-side assert triggered")
        steep = "steep" in text
        for _ in range(300 if steep else 1):
            time.sleep(POLL_S if steep else 0)
            self.flow.decoder.estimator()
        self.hift_cache_dict[this] = self.hift_cache_dict[this] or "cache"
        return {"tts_speech": Tensor(sound(begin * self.samples_a_token, end * self.samples_a_token, first))}


def sound(begin, end, first):
    """[1, n] float32: a tone, with the peaks of a bad join at both ends of every piece but the first."""
    wanted = (0.5 * np.sin(2 * math.pi * 0.01 * np.arange(begin, end))).astype(np.float32)
    if not first and wanted.size:
        wanted[0], wanted[-1] = HOT, -HOT
    return wanted[None]


class FrontEnd:
    """Text and prompts, with a table of speakers."""

    def __init__(self, voices):
        self.spk2info = {name: {"embedding": name} for name in voices}
        self.prompts = 0

    def text_normalize(self, text, split=True, text_frontend=True):
        if ("<|" in text and "|>" in text) or not text_frontend or text == "":
            return [text] if split else text
        text = text.strip()
        text[-1]  # the real one looks there, and fails for a blank text
        return [part.strip() for part in re.findall(r"[^.]+\.?", text)] if split else text

    def frontend_sft(self, text, speaker):
        if "choke" in text:
            raise KeyError("embedding")
        return {"text": text, "embedding": self.spk2info[speaker]["embedding"]}

    def frontend_zero_shot(self, text, prompt_text, prompt, rate, speaker):
        if speaker == "":
            seconds = self.seconds(prompt)
            assert seconds <= 30, "do not support extract speech token for audio longer than 30s"
            self.prompts += 1
            found = {"prompt_text": prompt_text, "llm_prompt_speech_token": seconds, "feat": seconds}
        else:
            found = self.spk2info[speaker] if OLD else {**self.spk2info[speaker]}
        found["text"] = text
        return found

    def frontend_cross_lingual(self, text, prompt, rate, speaker):
        found = self.frontend_zero_shot(text, "", prompt, rate, speaker)
        del found["prompt_text"], found["llm_prompt_speech_token"]
        return found

    def seconds(self, prompt):
        if OLD:
            assert prompt.shape[0] == 1 and prompt.dtype == np.float32, "a tensor [1, n] is wanted"
            return prompt.shape[1] / 16_000
        with wave.open(prompt) as file:
            return file.getnframes() / file.getframerate()


class OldFrontEnd(FrontEnd):
    """Adds the mark itself."""

    def frontend_instruct(self, text, speaker, told):
        return {**self.frontend_sft(text, speaker), "prompt_text": told + "<endofprompt>"}

    def frontend_instruct2(self, text, told, prompt, rate, speaker):
        found = self.frontend_zero_shot(text, told + "<|endofprompt|>", prompt, rate, speaker)
        del found["llm_prompt_speech_token"]
        return found


class NewFrontEnd(FrontEnd):
    """Leaves it to the caller."""

    def frontend_instruct(self, text, speaker, told):
        return {**self.frontend_sft(text, speaker), "prompt_text": told}

    def frontend_instruct2(self, text, told, prompt, rate, speaker):
        found = self.frontend_zero_shot(text, told, prompt, rate, speaker)
        del found["llm_prompt_speech_token"]
        return found


class Base:
    """What all versions share. `asked` is the last call's text and prompt, as the model heard them."""

    version, rate, voices = 1, 22_050, ("中文女", "英文男")

    def _build(self, model_dir, **switches):
        self.model_dir, self.switches = model_dir, switches
        self.instruct = "-Instruct" in model_dir
        if "broken" in model_dir:
            raise ValueError("the weights do not fit")
        self.sample_rate = self.rate
        self.frontend = (OldFrontEnd if OLD else NewFrontEnd)(() if "voiceless" in model_dir else self.voices)
        self.model = Model(self.version, self.rate)
        self.asked = ""

    def list_available_spks(self):
        return list(self.frontend.spk2info)

    def _speak(self, text, found, stream, speed, front=True):
        for part in self.frontend.text_normalize(text, True, front):
            model_input = found(part)
            if part.endswith("state"):
                jobs = sum("_job" in thread.name for thread in threading.enumerate())
                inner = self.model
                entries = (
                    len(inner.tts_speech_token_dict) + len(inner.llm_end_dict) + len(inner.hift_cache_dict)
                )
                numbers = [entries, jobs, self.frontend.prompts, len(self.frontend.spk2info)]
                yield {"tts_speech": Tensor(np.array([numbers], np.float32) / 1000)}
                continue
            if part.endswith("asked"):
                yield {
                    "tts_speech": Tensor(
                        np.frombuffer(self.asked.encode(), np.uint8)[None] / np.float32(1000)
                    )
                }
                continue
            self.asked = f"{model_input.get('prompt_text')}|{part}"
            marked = "<|endofprompt|>" in f"{model_input.get('prompt_text')}{part}"
            said = part.rpartition("<|endofprompt|>")[2]
            yield from self.model.tts(said, marked, stream=stream, speed=speed)

    def inference_sft(self, tts_text, spk_id, stream=False, speed=1.0, text_frontend=True):
        yield from self._speak(
            tts_text, lambda part: self.frontend.frontend_sft(part, spk_id), stream, speed, text_frontend
        )

    def inference_instruct(
        self, tts_text, spk_id, instruct_text, stream=False, speed=1.0, text_frontend=True
    ):
        yield from self._speak(
            tts_text, lambda part: self.frontend.frontend_instruct(part, spk_id, instruct_text), stream, speed
        )

    def _zero_shot(self, text, prompt_text, prompt, speaker, stream, speed):
        front, rate = self.frontend, self.sample_rate
        yield from self._speak(
            text,
            lambda part: front.frontend_zero_shot(part, prompt_text, prompt, rate, speaker),
            stream,
            speed,
        )

    def _cross(self, text, prompt, speaker, stream, speed):
        front, rate = self.frontend, self.sample_rate
        yield from self._speak(
            text, lambda part: front.frontend_cross_lingual(part, prompt, rate, speaker), stream, speed
        )

    def _instruct2(self, text, told, prompt, speaker, stream, speed):
        front, rate = self.frontend, self.sample_rate
        yield from self._speak(
            text, lambda part: front.frontend_instruct2(part, told, prompt, rate, speaker), stream, speed
        )

    def _register(self, prompt_text, prompt, speaker):
        found = self.frontend.frontend_zero_shot("", prompt_text, prompt, self.sample_rate, "")
        del found["text"]
        self.frontend.spk2info[speaker] = found
        return True

    def _convert(self, source, prompt, stream, speed):
        self.frontend.seconds(prompt)
        tokens = round(self.frontend.seconds(source) * 25)
        yield from self.model.tts(source=tokens, stream=stream, speed=speed)


class OldSignatures(Base):
    """Until December 2025: prompts are tensors."""

    def add_zero_shot_spk(self, prompt_text, prompt_speech_16k, zero_shot_spk_id):
        return self._register(prompt_text, prompt_speech_16k, zero_shot_spk_id)

    def inference_zero_shot(
        self,
        tts_text,
        prompt_text,
        prompt_speech_16k,
        zero_shot_spk_id="",
        stream=False,
        speed=1.0,
        text_frontend=True,
    ):
        return self._zero_shot(tts_text, prompt_text, prompt_speech_16k, zero_shot_spk_id, stream, speed)

    def inference_cross_lingual(
        self, tts_text, prompt_speech_16k, zero_shot_spk_id="", stream=False, speed=1.0, text_frontend=True
    ):
        return self._cross(tts_text, prompt_speech_16k, zero_shot_spk_id, stream, speed)

    def inference_vc(self, source_speech_16k, prompt_speech_16k, stream=False, speed=1.0):
        return self._convert(source_speech_16k, prompt_speech_16k, stream, speed)

    def inference_instruct2(
        self,
        tts_text,
        instruct_text,
        prompt_speech_16k,
        zero_shot_spk_id="",
        stream=False,
        speed=1.0,
        text_frontend=True,
    ):
        return self._instruct2(tts_text, instruct_text, prompt_speech_16k, zero_shot_spk_id, stream, speed)


class NewSignatures(Base):
    """Since: prompts are paths, in the same position."""

    def add_zero_shot_spk(self, prompt_text, prompt_wav, zero_shot_spk_id):
        return self._register(prompt_text, prompt_wav, zero_shot_spk_id)

    def inference_zero_shot(
        self,
        tts_text,
        prompt_text,
        prompt_wav,
        zero_shot_spk_id="",
        stream=False,
        speed=1.0,
        text_frontend=True,
    ):
        return self._zero_shot(tts_text, prompt_text, prompt_wav, zero_shot_spk_id, stream, speed)

    def inference_cross_lingual(
        self, tts_text, prompt_wav, zero_shot_spk_id="", stream=False, speed=1.0, text_frontend=True
    ):
        return self._cross(tts_text, prompt_wav, zero_shot_spk_id, stream, speed)

    def inference_vc(self, source_wav, prompt_wav, stream=False, speed=1.0):
        return self._convert(source_wav, prompt_wav, stream, speed)

    def inference_instruct2(
        self,
        tts_text,
        instruct_text,
        prompt_wav,
        zero_shot_spk_id="",
        stream=False,
        speed=1.0,
        text_frontend=True,
    ):
        return self._instruct2(tts_text, instruct_text, prompt_wav, zero_shot_spk_id, stream, speed)


class CosyVoice(OldSignatures if OLD else NewSignatures):
    def __init__(self, model_dir, load_jit=False, load_trt=False, fp16=False, trt_concurrent=1):
        self._build(model_dir, load_jit=load_jit, load_trt=load_trt, fp16=fp16, trt_concurrent=trt_concurrent)


class CosyVoice2(CosyVoice):
    version, rate = 2, 24_000

    def __init__(
        self, model_dir, load_jit=False, load_trt=False, load_vllm=False, fp16=False, trt_concurrent=1
    ):
        self._build(model_dir, load_vllm=load_vllm, fp16=fp16)


if not OLD:

    class CosyVoice3(CosyVoice2):
        version = 3

        def __init__(self, model_dir, load_trt=False, load_vllm=False, fp16=False, trt_concurrent=1):
            self._build(model_dir, load_trt=load_trt, load_vllm=load_vllm, fp16=fp16)
