"""Deduplicate a whole corpus at once: sketches by many processes, decisions by sorting."""
