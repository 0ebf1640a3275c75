"""The command line: commands, their options, and the tables that they print."""
