"""The index: stored documents, and verdicts on new ones."""
