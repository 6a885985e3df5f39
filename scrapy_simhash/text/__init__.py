"""The text and the facts of pages."""
