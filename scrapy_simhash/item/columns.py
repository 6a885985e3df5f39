"""The columns of a list of objects: the scalars of each field, however deep they are nested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def collect(columns: dict[str, list[Any]], path: str, value: Any) -> None:
    """Collect the scalars inside a list by the path of their field."""
    if isinstance(value, list):
        for inner in value:
            collect(columns, path, inner)
    elif isinstance(value, dict):
        for key, inner in value.items():
            collect(columns, f"{path}.{key}", inner)
    else:
        columns.setdefault(path, []).append(value)


def select(columns: Mapping[str, Any], name: str, value: Any) -> Any:
    """A value with nothing but the scalars of these columns."""
    if isinstance(value, list):
        return [select(columns, name, inner) for inner in value]
    if isinstance(value, dict):
        return {key: select(columns, f"{name}.{key}", inner) for key, inner in value.items()}
    return value if name in columns else None
