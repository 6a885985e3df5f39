"""What a command can't do because of what it was given."""

from __future__ import annotations

__all__ = ["CommandError"]


class CommandError(Exception):
    """Trouble that the user can put right: the message says in one line what is wrong."""
