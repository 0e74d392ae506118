"""Where chunks stand: the table of them, sets of them, languages and kinds by path, filters."""
