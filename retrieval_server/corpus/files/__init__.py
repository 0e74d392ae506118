"""Files and directories of a collection: what lies where, written whole or not at all, held by one server."""
