"""Messages name settings and commands in the words that their reader types: make's, or the command line's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.words import as_typed
from support.checkout import FakeCheckout

MAKEFILE = (Path(__file__).parents[3] / "Makefile").read_text()


def words_of(kind: str) -> dict[str, str]:
    """The words that each target `needs`, or `takes`."""
    return dict(re.findall(rf"^([a-z-]+): {kind} = ([A-Z ]+?) *(?:##|$)", MAKEFILE, re.MULTILINE))


NAMES = re.findall(r"^LAB_COMMANDS = ((?:.*\\\n)*.*)", MAKEFILE, re.MULTILINE)[0].replace("\\", "").split()
TARGETS = [
    (name, "run" if name == "experiment" else name, words_of("needs").get(name, ""), words_of("takes").get(name, ""))
    for name in NAMES
]


@pytest.mark.parametrize(
    ("words", "by_make", "by_hand"),
    [
        (("results",), "Make one: make experiment NAME=stack-get", "Make one: bin/lab run stack-get"),
        (("run", "fake", "--rate", "lots"), "error: RATE=lots: ", "error: --rate lots: "),
        (("run", "fake", "--resume"), "Without RESUME=1 it runs", "Without --resume it runs"),
        (("compare", "fake", "fake queue"), "such as 'VARIANT=queue'", "such as 'VARIANT=queue'"),
        (("compare", "fake", "fake", "--blocks", "3"), "DURATION=4s WARMUP=3s", "--duration 4s --warmup 3s"),
        (("run", "fake", "--rate", "auto"), "make capacity NAME=fake ", "bin/lab capacity fake "),
    ],
)
def test_hints_can_be_typed(checkout: FakeCheckout, words: tuple[str, ...], by_make: str, by_hand: str) -> None:
    assert by_make in checkout.lab(*words, MAKELEVEL="1")[1].replace("\n", " ")
    assert by_hand in checkout.lab(*words, MAKELEVEL="")[1].replace("\n", " ")


@pytest.mark.parametrize(("target", "command", "given", "optional"), TARGETS)
def test_a_target_of_make_is_the_command_that_it_calls(
    target: str, command: str, given: str, optional: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MAKELEVEL")
    words = [*given.split(), *optional.split()]
    typed = as_typed(" ".join([f"make {target}", *(f"{word}=x{n}" for n, word in enumerate(words))]))
    assert typed == " ".join([f"bin/lab {command}", *(f"x{n}" for n in range(len(words)))])


def test_there_are_targets() -> None:
    assert len(TARGETS) > 20
    assert words_of("needs")["search"] == "NAME SLO"
    assert words_of("takes") == {"check": "NAME", "compare": "C D E F", "regress": "NAME"}


@pytest.mark.parametrize(
    ("told", "typed"),
    [
        (
            "make compare A=many B='many VARIANT=queue' SCALE=0.3",
            "bin/lab compare many 'many VARIANT=queue' --scale 0.3",
        ),
        ("'make up' pulls it; QUEUE_CAPACITY=2", "'bin/lab up' pulls it; --queue-capacity 2"),
        ("VARIANT=quue: no such variant; make build-service", "--variant quue: no such variant; make build-service"),
        ("GENERATORS=1; REPEAT=10", "--generators 1; --repeat 10"),
        ("LAB_CACHE=/path, /a/RATE=1, DRY_RUN=1", "LAB_CACHE=/path, /a/RATE=1, --dry-run"),
    ],
)
def test_words_become_options(told: str, typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAKELEVEL")
    assert as_typed(told) == typed
