"""`python -m docs.book [FOLDER]`: build the site, which works from the disk, without a network.

Every warning is an error: a link to nowhere, a heading that is not there, a page that no other
leads to.
"""

import argparse
import sys
from pathlib import Path

from docs.book.building import BookError, build


def main() -> None:
    """Build the site into a folder, and say where it begins."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("site"))
    folder = parser.parse_args().folder
    try:
        build(folder)
    except BookError as error:
        sys.exit(f"docs: {error}")
    print(f"open {folder / 'index.html'}")


if __name__ == "__main__":
    main()
