"""Names stand beside their points, and none over another."""

import numpy as np
import pytest
from matplotlib.text import Text

from okl_flow.plotting.labels import name_points
from okl_flow.plotting.style import new_figure


@pytest.mark.parametrize("spread", [0.0, 0.02, 1.0])
def test_no_name_covers_another_or_a_point(spread):
    rng = np.random.default_rng(3)
    places = [tuple(place) for place in 0.5 + spread * (rng.random((20, 2)) - 0.5)]
    figure = new_figure(10.0, 6.0)
    axes = figure.add_subplot()
    axes.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0))
    names = [f"learner {number}" for number in range(len(places))]
    name_points(axes, places, names)
    figure.draw_without_rendering()
    texts = [Text.get_window_extent(note) for note in axes.texts]  # without the lines to them
    assert [note.get_text() for note in axes.texts] == names
    for number, one in enumerate(texts):
        assert not any(one.overlaps(other) for other in texts[:number]), names[number]
        for place in axes.transData.transform(places):
            assert not one.contains(*place), names[number]
