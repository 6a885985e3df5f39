"""Newspapers, shops and councils in English and Chinese, the same at every start.

`stories` writes the stories, `catalogue` decides on which `pages` they appear, `town` makes the
shops and councils, `templates` dresses the pages and `server` serves them over HTTP.
"""
