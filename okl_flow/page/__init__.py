"""The live page of a job: what its reports, alarms and rejects tell, for a browser.

`board` knows what there is to know, and nothing of where it comes from; `watching` brings it, from
topics or from files; `server` shows it, and `gate` says to whom.
"""

__all__ = ["IS_AT"]

IS_AT = "the page is at"
"""How the line begins that says where the page is, to people and to who has started it."""
