"""`okl-flow learners`: what there is to choose from."""

from typing import Annotated

import typer

__all__ = ["learners"]


def learners(
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object per learner, with its parameters.")
    ] = False,
) -> None:
    """List the learners: tasks, bound of the memory, work per event, paper.

    okl-flow learners --json
    """
    from okl_flow.cli.render import print_json, print_table
    from okl_flow.factory import make_learner
    from okl_flow.registry import REGISTRY

    if json:
        for name, row in REGISTRY.items():
            parameters = make_learner(name).describe()
            del parameters["learner"]
            print_json(
                {
                    "learner": name,
                    "tasks": row.tasks,
                    "memory": row.memory,
                    "cost": row.cost,
                    "paper": row.paper,
                    "parameters": parameters,
                }
            )
        return
    print_table(
        ["learner", "tasks", "memory", "work per event", "paper"],
        [
            [name, ", ".join(row.tasks), row.memory, row.cost, row.paper]
            for name, row in REGISTRY.items()
        ],
    )
