"""
Cancels seen from inside: `python inside.py PACKAGE OPTIONS`, under the interpreter that has CosyVoice.

Loads the engine, stops fifty generations at different moments, and prints as JSON how long each took to
let go, and what is left of them. Nothing of a worker or a pool is in between.
"""

import importlib.util
import json
import sys
import threading
import time

CANCELS = 50
TEXT = "hello world, hello"


def engine_of(package, options):
    spec = importlib.util.spec_from_file_location(
        "abr_tts", package + "/__init__.py", submodule_search_locations=[package]
    )
    sys.modules["abr_tts"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    from abr_tts.engine.base import Line
    from abr_tts.engine.cosyvoice import CosyVoice

    engine = CosyVoice()
    engine.load(options)
    return engine, Line


def main(package, options):
    engine, line = engine_of(package, options)
    inner = engine._variant.model.model
    voice = engine.voices[0].name
    before = threading.active_count()
    seconds = []
    for number in range(CANCELS):
        gone = threading.Event()
        left = [0.0]

        def leave(gone=gone, left=left):
            left[0] = time.monotonic()
            gone.set()

        # A tenth of a second is CosyVoice's own step; five steps hold its first chunk and part of the next.
        timer = threading.Timer(0.5 * number / CANCELS, leave)
        timer.start()
        engine.say(line(TEXT, voice), lambda chunk, gone=gone: not gone.is_set())
        seconds.append(time.monotonic() - left[0] if left[0] else 0.0)
        timer.join()
    told = []
    engine.say(line("a.", voice), lambda chunk: told.append(len(chunk)) or True)
    dicts = {name: len(value) for name, value in vars(inner).items() if name.endswith("_dict")}
    jobs = sum("_job" in thread.name for thread in threading.enumerate())
    print(json.dumps({
        "seconds": seconds, "dicts": dicts, "jobs": jobs, "threads": threading.active_count() - before,
        "after": sum(told),
    }))  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
