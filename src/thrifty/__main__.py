"""`python -m thrifty` is the command line."""

from thrifty.cli.app import main

main()
