"""The Scrapy components, and what they share."""
