"""`python -m thrifty` is the command line."""

from thrifty.cli import main

main()
