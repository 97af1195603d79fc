"""Parsers of the text formats: lines in, chunks of features and labels out."""
