"""Near-duplicates left out of an existing feed, without a crawl."""
