"""Items: their text, facts and address, and whether two items conflict."""
