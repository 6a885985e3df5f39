"""Objects by import path, and names for objects and content in the id of a scheme."""

from __future__ import annotations

import hashlib
import pkgutil
import re
from collections.abc import Callable, Mapping
from typing import Any


def is_import_path(name: str) -> bool:
    """Whether a name looks like an import path: has a dot or colon inside."""
    return re.search(r"\w[.:]\w", name) is not None


def load_object(option: str, path: str) -> Any:
    """Import "package.module:name" or "package.module.name", the value of an option."""
    try:
        return pkgutil.resolve_name(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"{option}: {path!r} cannot be imported: {error}") from error


def import_path(function: Callable[..., Any]) -> str:
    """The name of a function in a scheme's id; its behaviour cannot be compared."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{getattr(named, '__module__', 'builtins')}:{named.__qualname__}"


def digest(content: Any) -> str:
    """A short hash of bytes, or of a mapping or sequence regardless of its order."""
    if not isinstance(content, bytes):
        items = content.items() if isinstance(content, Mapping) else content
        content = "\n".join(sorted(map(repr, items))).encode()
    return hashlib.sha256(content).hexdigest()[:12]
