"""Tests of programs that README does not ask for: one that is missing is named, with its Debian package.

Such a test is skipped. If CI is set it fails instead, because CI installs them all.
"""

from __future__ import annotations

import os
import shutil

import pytest

NO_ENGINE = "no Docker Engine answers"
IS_MISSING = "is missing (Debian: apt install "


def require(program: str, package: str) -> None:
    """Skip this test if a program is not on the PATH; under CI, fail it."""
    if shutil.which(program) is None:
        leave_out(f"{program} {IS_MISSING}{package})")


def leave_out(why: str) -> None:
    """Skip this test; under CI, fail it."""
    if os.environ.get("CI"):
        pytest.fail(f"{why}; under CI this test must run", pytrace=False)
    pytest.skip(why)
