"""The lexical index as it follows the database, and the terms that ranking needs to know of it."""
