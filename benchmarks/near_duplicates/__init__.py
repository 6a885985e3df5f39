"""Two sets of near-duplicate web pages for any tool: see README.md."""
