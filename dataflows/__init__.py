"""Flows that run as they are: `python -m bytewax.run dataflows.classify:flow`.

Each is over files or topics, and a file to read, to run with other settings, or to copy and change.
"""
