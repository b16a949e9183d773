"""The command that an operator types, with the fake behind it, to the file that a listener gets."""

import os
import re
import subprocess
import sys
import wave

import numpy as np
import pytest

from abr_tts.cli import main

from . import fake

WAIT_S = 30.0


@pytest.mark.parametrize("version, rate", [(1, 22_050), (2, 24_000), (3, 24_000)])
def test_a_folder_of_weights_and_a_checkout_make_a_server(checkout, weights, tmp_path, version, rate):
    config = tmp_path / "abr-tts.toml"
    config.write_text(f'[engine.options]\npath = "{checkout}"\nwarm_up = ""\n')
    command = [
        sys.executable, "-m", "abr_tts", "serve", "--port", "0", "--config", str(config),
        "--engine", "cosyvoice", "--model-dir", os.path.relpath(weights[version]), "--workers", "1",
    ]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        lines = iter(process.stderr.readline, "")
        url = next(found[0] for line in lines if (found := re.search(r"ws://127\.0\.0\.1:\d+", line)))
        path = tmp_path / "heard.wav"
        assert (
            main(["say", "--url", url, "--rung", f"pcm{rate // 1000}", "-o", str(path), "n" * 30 + "."]) == 0
        )
        with wave.open(str(path)) as file:
            samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
            assert file.getframerate() == rate
        assert len(samples) == 31 * fake.TOKENS_A_CHAR * (441 if version == 1 else 960)
        assert np.abs(samples).max() > 10_000
        process.terminate()
        assert process.wait(WAIT_S) == 0
    finally:
        process.kill()
        process.communicate()


def test_without_a_folder_the_command_ends_with_what_to_do(capfd):
    command = [sys.executable, "-m", "abr_tts", "serve", "--port", "0", "--engine", "cosyvoice"]
    told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT_S)
    assert told.returncode != 0 and "--model-dir" in told.stderr
    assert "Traceback" not in told.stderr
