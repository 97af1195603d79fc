"""The site made of the documents, of docstrings and of what was measured."""
