"""Reads the text of an experiment file."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab.experiment import Catalogue, Experiment
from lab.paths import Checkout
from support.checkout import FakeCheckout


@pytest.fixture
def read(checkout: FakeCheckout) -> Callable[[str], Experiment]:
    def read_text(text: str) -> Experiment:
        checkout.write("experiments/x/experiment.yaml", text)
        return Catalogue(Checkout(checkout.root)).read("x")

    return read_text
