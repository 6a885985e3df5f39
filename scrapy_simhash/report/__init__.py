"""History to what a person reads."""
