"""Write the golden snapshots that are missing."""

from tests.golden import write_missing

write_missing()
