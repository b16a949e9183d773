"""
Prints what /asyncapi.json says of the native WebSocket, made of the contract, protocol/schema.json:

    python tools/asyncapi_wire.py > abr_tts/server/asyncapi/wire.json
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from abr_tts.server.asyncapi.schemas import components

CONTRACT = Path(__file__).resolve().parents[1] / "protocol" / "schema.json"

NO_SCHEMAS = ("client_message", "server_message")
"""Definitions that merely list the messages of a side: the operations do that."""


def wire() -> dict[str, Any]:
    """Names of the messages of either side, and the schema of each and of what is in them."""
    definitions = json.loads(CONTRACT.read_text("utf-8"))["$defs"]
    sides = {
        side: [one["$ref"].rpartition("/")[2] for one in definitions[f"{side}_message"]["oneOf"]]
        for side in ("client", "server")
    }
    kept = {name: schema for name, schema in definitions.items() if name not in NO_SCHEMAS}
    return {**sides, "schemas": components(kept, "wire")}


if __name__ == "__main__":
    print(json.dumps(wire(), indent=1))
