"""``record.json``: what was asked, what was done for it, and the result; of a comparison, and of a series of runs.

It lies in ``results/<kind>/<id>/``, beside the page that answers the question (docs/run-directory.md). Each kind adds
fields of its own to `Record`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError

from lab.errors import InputError
from lab.manifest import Strict
from lab.whole_file import replacing

RECORD = "record.json"
FORMAT: Literal["lsmlab-record"] = "lsmlab-record"
VERSION: Literal[1] = 1


class RecordError(InputError):
    """A ``record.json`` that cannot be read; the message names the file and what is wrong with it."""


class Record(Strict):
    """The fields of every kind. ``state`` becomes complete when everything is done and the page is written."""

    format: Literal["lsmlab-record"] = FORMAT
    version: Literal[1] = VERSION
    kind: Annotated[str, Field(pattern=r"^[a-z-]+$")]
    id: Annotated[str, Field(pattern=r"^\d{8}T\d{6}Z(-\d+)?$")]
    state: Literal["incomplete", "complete"] = "incomplete"

    @property
    def complete(self) -> bool:
        """Whether everything is done."""
        return self.state == "complete"

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read ``path``. Raises ``RecordError`` for a file that is missing, not JSON, or of another kind or version."""
        try:
            return cls.model_validate_json(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise RecordError(f"{path}: cannot be read: {error.strerror}") from error
        except ValueError as error:
            problems = error.errors(include_url=False) if isinstance(error, ValidationError) else []
            what = "; ".join(f"{'.'.join(map(str, one['loc'])) or 'the document'}: {one['msg']}" for one in problems)
            raise RecordError(f"{path}: not such a record: {what or error}") from error

    def directory(self, results: Path) -> Path:
        """Return the directory of this record."""
        return results / self.kind / self.id

    def write(self, results: Path) -> Path:
        """Write ``record.json`` as a whole and return its path. It is validated: its fields may have been set."""
        path = self.directory(results) / RECORD
        text = type(self).model_validate(self.model_dump()).model_dump_json(indent=1) + "\n"
        with replacing(path) as scratch, scratch.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        return path
