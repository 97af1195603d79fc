"""Ten million events of a stream that travels, through every learner that is bounded.

`python -m benchmarks.soak` prints for each learner whether its memory stayed flat, what its
factors and sketches have drifted by, and its mistakes at the beginning and at the end.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.report import write
from okl_flow import Learner, make_learner, streams
from okl_flow.curvature import triangle_of
from okl_flow.kernels import kernel_matrix
from okl_flow.native import Array
from okl_flow.registry import REGISTRY
from okl_flow.sketches import sketch_rows
from okl_flow.state import array_axes, inner_states

__all__ = ["Soaked", "residuals", "soak"]

EVENTS = 10_000_000
CHUNK = 100_000  # a whole number of periods of the stream
DIM = 2
SETTINGS: dict[str, dict[str, Any]] = {
    "krls_ald": {"replacement": "oldest"},
    "nolana": {"squared_distance": 0.1, "landmark_memory": 20, "landmark_ttl": 1000},
    "skegd": {"update_every": 1000},
}
"""What a learner is given beside the settings that the registry has it learn with."""


@dataclass(slots=True)
class Soaked:
    """What a learner looked like from chunk to chunk."""

    learner: Learner
    mistakes: list[float]  # share, a chunk each
    state_bytes: list[int]
    residuals: list[dict[str, float]]

    @property
    def drift(self) -> dict[str, float]:
        """The largest of each residual."""
        return {name: max(own[name] for own in self.residuals) for name in self.residuals[0]}


def soak(name: str, events: int, *, chunk: int = CHUNK) -> Soaked:
    """Run a learner through so many events, and look at it after each chunk."""
    row = REGISTRY[name]
    learner = make_learner(name, **{**row.settings, **row.learning, **SETTINGS.get(name, {})})
    state = learner.init(DIM, seed=1)
    soaked = Soaked(learner, [], [], [])
    for X, y in _chunks(events, chunk):
        scores = learner.step(state, X, y)
        assert np.isfinite(scores).all(), f"{name}: a score is not finite"
        soaked.mistakes.append(float(np.mean(scores * y <= 0.0)))
        held = [
            getattr(part, array)
            for _path, part in inner_states(state)
            for array in array_axes(type(part))
        ]
        soaked.state_bytes.append(sum(array.nbytes for array in held))
        soaked.residuals.append(residuals(learner, state))
    return soaked


def _chunks(events: int, chunk: int) -> Iterator[tuple[Array, Array]]:
    for seed in range(events // chunk):
        yield streams.wandering(chunk, dim=DIM, seed=seed)


def residuals(learner: Learner, state: Any) -> dict[str, float]:
    """How far the matrices that a learner keeps up are from what they stand for."""
    return _RESIDUALS[learner.name](learner, state) if learner.name in _RESIDUALS else {}


def _gram(learner: Any, rows: Array, size: int) -> Array:
    return kernel_matrix(learner.kernel.native, np.ascontiguousarray(rows[:, :size]), size)


def _largest(gap: Array) -> float:
    return float(np.abs(gap).max(initial=0.0))


def _of_factor(learner: Any, state: Any) -> dict[str, float]:
    factor = np.tril(state.factor[: state.size, : state.size])
    return {"LL' - K": _largest(factor @ factor.T - _gram(learner, state.rows, state.size))}


def _of_chosen_factor(learner: Any, state: Any) -> dict[str, float]:
    chosen = make_learner("projectron", kernel=learner.kernel.name, bandwidth=state.bandwidth)
    return _of_factor(chosen, state)


def _of_curvature(learner: Any, rows: Array, scales: Array, factor: Array, order: Array) -> float:
    """R'R - (D K D + alpha I), the examples taken in the order of the ring."""
    held = np.triu(factor[np.ix_(order, order)])
    scaled = scales[order, None] * _gram(learner, rows[:, order], len(order)) * scales[order]
    return _largest(held.T @ held - scaled - learner.regularization * np.eye(len(order)))


def _of_kons(learner: Any, state: Any) -> dict[str, float]:
    order = (state.oldest + np.arange(state.size)) % max(1, state.size)
    residual = _of_curvature(learner, state.rows, state.scales, state.factor, order)
    return {"R'R - E": residual}


def _of_sketched_kons(learner: Any, state: Any) -> dict[str, float]:
    curved, drawn = np.arange(state.curved), np.arange(state.drawn)
    return {
        "R'R - E": _of_curvature(learner, state.curved_rows, state.scales, state.factor, curved),
        "R'R - E of KORS": _of_curvature(
            learner, state.drawn_rows, state.drawn_scales, state.drawn_factor, drawn
        ),
    }


def _of_pros_n_kons(learner: Any, state: Any) -> dict[str, float]:
    drawn = np.arange(state.size)
    gram = _gram(learner, state.rows, state.size)
    held = triangle_of(state.projection, state.size) * state.lengths[: state.size]
    features = held.T @ gram @ held - np.diag(state.lengths[: state.size] > 0.0)
    return {
        "R'R - E of KORS": _of_curvature(
            learner, state.rows, state.drawn_scales, state.drawn_factor, drawn
        ),
        "M'KM - I": _largest(features),
    }


def _of_eigenpairs(learner: Any, state: Any) -> dict[str, float]:
    rebuilt = (state.vectors * state.values) @ state.vectors.T
    right_angles = state.vectors.T @ state.vectors - np.eye(len(state.values))
    gram = _gram(learner, state.rows, len(state.values))
    return {"VSV' - K": _largest(rebuilt - gram), "V'V - I": _largest(right_angles)}


def _of_sketches(learner: Any, state: Any) -> dict[str, float]:
    phi_pp, phi_pm = np.empty_like(state.phi_pp), np.empty_like(state.phi_pm)
    sketch_rows(learner.kernel.native, state.rows, state.entries, state.size, phi_pp, phi_pm)
    return {
        "Phi_pp": _largest(state.phi_pp - phi_pp),
        "Phi_pm": _largest(state.phi_pm - phi_pm),
    }


_RESIDUALS: dict[str, Callable[[Any, Any], dict[str, float]]] = {
    "projectron": _of_factor,
    "projectron_pp": _of_factor,
    "proj_ka": _of_chosen_factor,
    "kons": _of_kons,
    "krls_ald": _of_factor,
    "sketched_kons": _of_sketched_kons,
    "pros_n_kons": _of_pros_n_kons,
    "nolana": _of_eigenpairs,
    "skegd": _of_sketches,
}


def main() -> None:
    """Soak the learners named, or all that are bounded, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="learners; all that are bounded by default")
    parser.add_argument("--events", type=int, default=EVENTS)
    options = parser.parse_args()
    rows = []
    for name in options.names or REGISTRY:
        soaked = soak(name, options.events)
        tenth = max(1, len(soaked.mistakes) // 10)
        drift = ", ".join(f"{key} {value:.1e}" for key, value in soaked.drift.items())
        rows.append(
            [
                name,
                f"{soaked.state_bytes[0]}",
                f"{soaked.state_bytes[-1]}",
                f"{100 * np.mean(soaked.mistakes[:tenth]):.2f}",
                f"{100 * np.mean(soaked.mistakes[-tenth:]):.2f}",
                drift or "-",
            ]
        )
        print(" ".join(rows[-1]), flush=True)
    if not options.names:
        write(
            "soak",
            "Endless streams",
            f"{options.events} events of `streams.wandering` in {DIM} features: the cloud of "
            "examples goes round once in 20,000 events, so whatever is stored is soon out of "
            "place. Array bytes after the first chunk and after the last; mistakes in the first "
            "tenth and in the last; the largest that any residual was at the end of a chunk.",
            ["learner", "bytes, first", "last", "mistakes, %, first", "last", "residuals"],
            rows,
        )


if __name__ == "__main__":
    main()
