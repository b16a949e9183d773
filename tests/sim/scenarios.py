"""The project's own scenarios, read from where all the backends read them."""

import json
from pathlib import Path

from abr_tts.sim.scenario import Scenario, from_json

FOLDER = Path(__file__).resolve().parents[2] / "tools" / "netem" / "scenarios"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


def document(name: str) -> dict:
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def load(name: str) -> Scenario:
    return from_json(document(name))
