"""
Writes tests/deploy/kubernetes.schema.json: Kubernetes' own schema of the kinds that we use, and no more.

The whole is 22 MB, as the package kubernetes-validate (Apache-2.0) carries it, made of Kubernetes' OpenAPI
document (Apache-2.0). This takes the strict one, which refuses unknown fields, of the oldest version that we
support, and leaves out the descriptions.

    pip install kubernetes-validate && python tools/deploy/kubernetes_schema.py
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

VERSION = "1.29.0"
"""Of Kubernetes, December 2023: what the manifests may use."""

KINDS = {
    "ConfigMap": "configmap-v1",
    "Deployment": "deployment-apps-v1",
    "HorizontalPodAutoscaler": "horizontalpodautoscaler-autoscaling-v2",
    "Ingress": "ingress-networking-v1",
    "NetworkPolicy": "networkpolicy-networking-v1",
    "PodDisruptionBudget": "poddisruptionbudget-policy-v1",
    "Secret": "secret-v1",
    "Service": "service-v1",
}
"""Kind → name of its schema's file."""

OUTPUT = Path(__file__).resolve().parents[2] / "tests" / "deploy" / "kubernetes.schema.json"
REFERENCE = "#/$defs/"


def pruned(node: Any) -> Any:
    """Without descriptions (as long as they are texts: a field may have this name), references made local."""
    if isinstance(node, list):
        return [pruned(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {}
    for key, value in node.items():
        if key == "$ref":
            kept[key] = REFERENCE + value.partition(REFERENCE)[2]
        elif not (key == "description" and isinstance(value, str)) and not key.startswith("x-kubernetes"):
            kept[key] = pruned(value)
    return kept


def references(node: Any) -> set[str]:
    """Names of the definitions that a schema needs at once."""
    if isinstance(node, list):
        return set().union(*map(references, node))
    if not isinstance(node, dict):
        return set()
    own = {node["$ref"].removeprefix(REFERENCE)} if isinstance(node.get("$ref"), str) else set()
    return own.union(*map(references, node.values()))


def main() -> None:
    """Read the package, write the file."""
    folder = files("kubernetes_validate") / "kubernetes-json-schema" / f"v{VERSION}-local-strict"
    every = json.loads((folder / "_definitions.json").read_text("utf-8"))["$defs"]
    kinds = {
        kind: pruned(json.loads((folder / f"{name}.json").read_text("utf-8"))) for kind, name in KINDS.items()
    }
    needed: dict[str, Any] = {}
    wanted = references(list(kinds.values()))
    while wanted:
        needed |= {name: pruned(every[name]) for name in wanted}
        wanted = references(list(needed.values())) - needed.keys()
    about = f"Kubernetes {VERSION}, strict, pruned by tools/deploy/kubernetes_schema.py. Licence: Apache-2.0."
    schema = {"$comment": about, "kinds": kinds, "$defs": dict(sorted(needed.items()))}
    OUTPUT.write_text(json.dumps(schema, separators=(",", ":"), sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
