"""Compose file and Kubernetes manifests as data, held to their own schemas."""

import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
from ruamel.yaml import YAML

DEPLOY = Path(__file__).resolve().parents[2] / "tools" / "deploy"
COMPOSE = DEPLOY / "compose.yaml"


def read(path: Path) -> Any:
    """One YAML document."""
    return YAML(typ="safe", pure=True).load(path.read_text("utf-8"))


def kubernetes() -> dict[str, Any]:
    """Every manifest, by its kind."""
    found = [read(path) for path in sorted((DEPLOY / "kubernetes").glob("*.yaml"))]
    return {manifest["kind"]: manifest for manifest in found}


@cache
def compose_schema() -> dict[str, Any]:
    """Compose's own, as check-jsonschema carries it."""
    folder = files("check_jsonschema") / "builtin_schemas" / "vendor"
    return json.loads((folder / "compose-spec.json").read_text("utf-8"))


@cache
def kubernetes_schema() -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("kubernetes.schema.json").read_text("utf-8"))


def compose_faults(document: Any) -> list[str]:
    """What Compose would not take."""
    return _faults(compose_schema(), document)


def kubernetes_faults(manifest: dict[str, Any]) -> list[str]:
    """What an API server with strict validation would not take."""
    whole = kubernetes_schema()
    if manifest.get("kind") not in whole["kinds"]:
        return [f"no schema of kind {manifest.get('kind')}"]
    return _faults({**whole["kinds"][manifest["kind"]], "$defs": whole["$defs"]}, manifest)


def _faults(schema: dict[str, Any], document: Any) -> list[str]:
    kind = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    return [fault.message for fault in kind(schema).iter_errors(document)]
