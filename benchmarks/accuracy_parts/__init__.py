"""The parts of benchmarks/accuracy.py: what is judged, by whom, and what is printed of it."""
