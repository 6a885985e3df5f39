"""The signals that this package sends."""

from __future__ import annotations

#: Sent once for every near-duplicate item, whether it is dropped or only reported, with the
#: arguments ``item``, ``response`` (None for an item of ``start()``), ``match`` and ``spider``::
#:
#:     crawler.signals.connect(on_duplicate, signal=signals.near_duplicate)
#:
#:     def on_duplicate(item, match):
#:         print(item["url"], "is a copy of", match.url)
near_duplicate = object()

#: Sent once for every item that was compared, whether it is stored or not, with the arguments
#: ``item``, ``response`` (None for an item of ``start()``), ``change`` and ``spider``.
#: ``change`` is what SIMHASH_CHANGE_FIELD would hold; the "status" of a near-duplicate is "copy".
item_change = object()
