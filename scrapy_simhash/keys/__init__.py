"""Fingerprints and shingles to the keys that documents are stored and looked up by."""
