"""Text to features: tokens, their pairs, and the hashes of these."""
