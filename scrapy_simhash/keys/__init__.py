"""The keys of fingerprints and shingles, by which similar documents are found."""
