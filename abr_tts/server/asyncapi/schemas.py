"""
JSON Schema of 2020-12, as our contract and msgspec write it, to what AsyncAPI 3.0 has: draft 07 with its
definitions under `components/schemas`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PLACE = "#/components/schemas/"
"""Where AsyncAPI keeps schemas."""

DROPPED = frozenset({"$schema", "$id", "$defs"})
"""What the whole document says already, or says elsewhere."""


def components(definitions: Mapping[str, Any], family: str) -> dict[str, Any]:
    """
    Args:
        definitions: name → schema, which refer to one another as `#/$defs/<name>`.
        family: stands before each name, lest two contracts mean different things by one.

    Returns:
        Name with its family → schema.
    """
    return {f"{family}.{name}": converted(schema, family) for name, schema in definitions.items()}


def converted(schema: Any, family: str) -> Any:
    """One schema, with all that is in it."""
    if isinstance(schema, list):
        return [converted(item, family) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: converted(value, family) for name, value in schema.items() if name not in DROPPED}
    if "prefixItems" in made:  # draft 07: the first ones are `items`, the rest `additionalItems`
        rest = made.pop("items", None)
        made["items"] = made.pop("prefixItems")
        if rest is not None:
            made["additionalItems"] = rest
    if "$ref" in made:
        reference = {"$ref": f"{PLACE}{family}.{made.pop('$ref').rpartition('/')[2]}"}
        return {**made, "allOf": [reference]} if made else reference  # beside a $ref nothing counts
    return made
