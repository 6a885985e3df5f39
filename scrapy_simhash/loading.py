"""Imports by path, and names of functions and contents in the ids of schemes."""

from __future__ import annotations

import gc
import hashlib
import pkgutil
import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def import_large(name: str, *, is_start: bool) -> Any:
    """Import a module that imports many others, without the garbage collector.

    The collector would take a quarter of the time to examine all objects repeatedly, without any
    garbage to find. At the start of a process, later collections also leave out what was loaded.
    """
    if name in sys.modules:
        return sys.modules[name]
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        module = import_module(name)
        if is_start:
            gc.freeze()
    finally:
        if was_enabled:
            gc.enable()
    return module


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
