"""The command line. One file a command or two; all of them load the library only when they run."""
