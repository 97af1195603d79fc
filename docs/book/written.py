"""The pages that nobody writes: of learners, of what was measured, of commands and functions."""

from benchmarks.report import RESULTS
from docs.book.learners import learner_page
from docs.book.reference import command_page, python_page
from okl_flow.registry import REGISTRY

__all__ = ["written"]


def written() -> dict[str, str]:
    """Each page's name and text."""
    return {
        **{f"learners/{name}.md": learner_page(name) for name in REGISTRY},
        **{f"measured/{path.name}": path.read_text() for path in sorted(RESULTS.glob("*.md"))},
        "reference/commands.md": command_page(),
        "reference/python.md": python_page(),
    }
