"""A whole corpus at once: sketched by many processes, decided on by sorting, without a database."""
