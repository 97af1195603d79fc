"""How fast it is, beside the limits and the neighbours: each part writes figures of one form."""
