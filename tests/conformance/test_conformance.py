"""Every registry row under every law."""

import pytest

from okl_flow.registry import REGISTRY
from tests.conformance.checks import LAWS


def case(name, law):
    reason = REGISTRY[name].exceptions.get(law.__name__)
    marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
    return pytest.param(name, law, id=f"{name}-{law.__name__}", marks=marks)


@pytest.mark.parametrize(("name", "law"), [case(name, law) for name in REGISTRY for law in LAWS])
def test_the_law_holds(name, law):
    law(name)


@pytest.mark.parametrize("name", list(REGISTRY))
def test_exceptions_name_laws(name):
    assert set(REGISTRY[name].exceptions) <= {law.__name__ for law in LAWS}
