"""Fingerprints, their distances and similarities."""
