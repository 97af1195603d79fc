"""`python -m okl_flow.cli`: the same as `okl-flow`."""

from okl_flow.cli import main

main()
