"""The signal that this package sends."""

from __future__ import annotations

#: Sent once for every near-duplicate item, whether it is dropped or only reported, with the
#: arguments ``item``, ``response`` (None for an item of ``start()``), ``match`` and ``spider``.
near_duplicate = object()
