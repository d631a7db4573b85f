"""`lab help`: a command's help, the list of all, and what is said of a word that is neither."""

from __future__ import annotations

from support.checkout import FakeCheckout


def test_help_of_a_command_that_does_not_exist_is_an_error(checkout: FakeCheckout) -> None:
    assert checkout.lab("help", "nosuch") == (
        2,
        "error: no command named 'nosuch'\n`lab help all` lists every command\n",
    )


def test_help_of_a_command_is_its_own(checkout: FakeCheckout) -> None:
    assert checkout.lab("help", "tag") == checkout.lab("tag", "--help")
    assert checkout.lab("help") == checkout.lab("--help")
