"""Files of items and pages: JSON Lines, CSV, Parquet and WARC."""
