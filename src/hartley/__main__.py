"""Run the command line as ``python -m hartley``."""

from hartley.cli.main import main

main()
