"""Queries behind the commands and the report. They only read, and never take a crawl's lock."""
