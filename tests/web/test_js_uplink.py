"""The JavaScript's clips against a real server, over a real WebSocket."""

import base64
import json

import numpy as np

from abr_tts.engine.references import References
from abr_tts.engine.tone import Options, converted

from ..server.clips import noise
from ..server.harness import serving_in_a_thread
from .node import JS, needs_node, node

pytestmark = needs_node


def test_a_player_makes_a_voice_and_hears_a_conversion_to_the_sample(tmp_path):
    sound = noise(60)
    samples = base64.b64encode((sound.astype("<f4") / 32_768).tobytes()).decode()
    options = {"rate": 16_000, "converts": True}
    with serving_in_a_thread(engine__options=options, engine__voices_dir=str(tmp_path)) as server:
        asked = {"url": server.url, "name": "anna", "rate": 16_000, "samples": samples}
        asked["wishes"] = {"rung": "pcm16k", "voice": "tone"}
        told = json.loads(node("--experimental-websocket", JS / "clip.mjs", text=json.dumps(asked)))
    kept = References(tmp_path).get("anna")
    assert (told["seconds"], told["refused"], kept.text) == (1.2, "voice_taken", "hm")
    np.testing.assert_array_equal(kept.read(), sound)
    assert told["complete"] and told["voice"] == "tone"
    heard = np.frombuffer(base64.b64decode(told["heard"]), "<f4")
    wanted = converted(sound, options=Options(rate=16_000)) / np.float32(32_768)
    first = int(np.argmax(heard != 0))
    np.testing.assert_array_equal(heard[first : first + len(wanted)], wanted)
