"""From candidates to the few that are returned: capped by file, not repeated, from several sides."""
