"""Flows that run as they are, over files: `python -m bytewax.run dataflows.classify:flow`.

Each is a file to read, to run with other settings, or to copy and change.
"""
