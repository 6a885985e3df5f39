"""Imports by path, and names of functions and contents in the ids of schemes."""

from __future__ import annotations

import hashlib
import pkgutil
import re
from collections.abc import Callable, Mapping
from typing import Any


def is_import_path(name: str) -> bool:
    """Whether a name looks like an import path, with a dot or colon inside."""
    return re.search(r"\w[.:]\w", name) is not None


def load_object(option: str, path: str) -> Any:
    """Import the object that an option names: "package.module:name" or "package.module.name".

    Raises:
        ValueError: it can't be imported; the message names the option.
    """
    try:
        return pkgutil.resolve_name(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"{option}: {path!r} cannot be imported: {error}") from error


def import_path(function: Callable[..., Any]) -> str:
    """The import path of a function, which names it in the id of a scheme."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{getattr(named, '__module__', 'builtins')}:{named.__qualname__}"


def digest(content: Any) -> str:
    """A short hash of bytes, or of a mapping or sequence regardless of its order."""
    if not isinstance(content, bytes):
        items = content.items() if isinstance(content, Mapping) else content
        content = "\n".join(sorted(map(repr, items))).encode()
    return hashlib.sha256(content).hexdigest()[:12]
