"""How SQL is run: engines, transactions, statements, the tables. Not a word about duplicates."""
