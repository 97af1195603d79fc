"""The library's learners with the faces of River and scikit-learn, and River's models with ours.

Neither package is needed by okl_flow itself: each name here imports what it needs when it is
first asked for. `pip install 'okl-flow[adapters]'` installs both.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from okl_flow.adapters.from_river import FromRiver
    from okl_flow.adapters.to_river import River, RiverClassifier, RiverRegressor
    from okl_flow.adapters.to_sklearn import Sklearn, SklearnClassifier, SklearnRegressor

__all__ = [
    "FromRiver",
    "River",
    "RiverClassifier",
    "RiverRegressor",
    "Sklearn",
    "SklearnClassifier",
    "SklearnRegressor",
]

_MODULES = {"FromRiver": "from_river"} | {
    name: "to_river" if name.startswith("River") else "to_sklearn"
    for name in __all__
    if name != "FromRiver"
}
_PACKAGES = {"river": "river", "sklearn": "scikit-learn"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    except ModuleNotFoundError as error:
        missing = _PACKAGES.get((error.name or "").partition(".")[0])
        if missing is None:
            raise
        raise ModuleNotFoundError(
            f"{__name__}.{name} needs {missing}, which is not installed: "
            f"pip install 'okl-flow[adapters]', or pip install {missing}",
            name=error.name,
        ) from None
