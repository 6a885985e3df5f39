"""A small news site in English and Chinese, the same at every start.

`stories` writes the stories, `catalogue` decides on which pages they appear, `templates` dresses
the pages and `server` serves them over HTTP.
"""
