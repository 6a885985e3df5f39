"""The features of a text: tokens and the hashes of their pairs."""
