"""SQL: engines, transactions, compiled statements and the tables. Knows nothing of duplicates."""
