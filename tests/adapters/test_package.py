"""The adapters need River and scikit-learn; okl_flow does not."""

import subprocess
import sys

import pytest

from okl_flow import adapters


def run(code):
    """What a fresh process prints."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_okl_flow_imports_neither():
    code = (
        "import sys, okl_flow, okl_flow.adapters, okl_flow.evaluation; "
        "print({'river', 'sklearn'} & set(sys.modules))"
    )
    assert run(code) == "set()"


@pytest.mark.parametrize(
    ("name", "module", "package"),
    [
        ("River", "river", "river"),
        ("FromRiver", "river", "river"),
        ("SklearnClassifier", "sklearn", "scikit-learn"),
    ],
)
def test_a_missing_package_is_named(name, module, package):
    said = run(
        f"import sys; sys.modules[{module!r}] = None\n"
        f"try: from okl_flow.adapters import {name}\n"
        "except ModuleNotFoundError as error: print(error)"
    )
    assert said.startswith(f"okl_flow.adapters.{name} needs {package}, ")
    assert "pip install 'okl-flow[adapters]'" in said


def test_one_package_does_without_the_other():
    code = "import sys; sys.modules['sklearn.base'] = None; from okl_flow.adapters import River"
    assert run(code) == ""


def test_every_name_is_there():
    assert adapters.__all__ == sorted(adapters.__all__)
    for name in adapters.__all__:
        assert getattr(adapters, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Weka'"):
        _ = adapters.Weka
