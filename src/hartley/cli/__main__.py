"""Run the command line as ``python -m hartley.cli``."""

from hartley.cli.main import main

main()
