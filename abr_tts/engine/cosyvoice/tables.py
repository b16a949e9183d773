"""
The model's dicts with an entry for each generation, made to tell which thread makes one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Table(dict[str, Any]):
    """
    A dict that asks before it takes a new key, in the thread that would put it in.

    Args:
        entries: what is in it already.
        admits: told the new key; False: the entry is not made, and nobody is told.
    """

    def __init__(self, entries: dict[str, Any], admits: Callable[[str], bool]) -> None:
        super().__init__(entries)
        self._admits = admits

    def __setitem__(self, key: str, value: Any) -> None:
        """Put in what may be."""
        if key in self or self._admits(key):
            super().__setitem__(key, value)


def tables_of(owner: Any, admits: Callable[[str], bool]) -> list[Table]:
    """Every attribute of `owner` called `…_dict`, which holds an entry for each generation, as a `Table`."""
    held = vars(owner).items() if hasattr(owner, "__dict__") else ()
    tables = {
        name: Table(value, admits)
        for name, value in held
        if name.endswith("_dict") and isinstance(value, dict)
    }
    for name, table in tables.items():
        setattr(owner, name, table)
    return list(tables.values())
