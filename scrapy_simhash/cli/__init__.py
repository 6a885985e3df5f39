"""``scrapy simhash``, one command a file."""
