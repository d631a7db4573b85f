"""run.json as a whole: the only writer and the only reader."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from lab.errors import InputError
from lab.manifest.base import Count, Strict
from lab.manifest.declared import Experiment, Phase
from lab.manifest.environment import Environment
from lab.manifest.measurement import Summary
from lab.manifest.validity import Validity

FORMAT: Literal["lsmlab-run"] = "lsmlab-run"

VERSION: Literal[3] = 3

RuntimeName = Literal["local", "docker", "kubernetes"]


class ManifestError(InputError):
    """A ``run.json`` that cannot be read; the message names the file, the field and what is wrong with it."""


class Artifact(Strict):
    """A file of the run: path relative to the run directory, size, SHA-256 in lower-case hexadecimal."""

    path: str
    bytes: Count
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

    @classmethod
    def all_below(cls, directory: Path, *, without: Sequence[str]) -> list[Self]:
        """Return every file below a directory, by path, except hidden ones and those named `without`."""
        found = []
        for path in sorted(directory.rglob("*")):
            name = path.relative_to(directory).as_posix()
            if path.is_file() and name not in without and not path.name.startswith("."):
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                found.append(cls(path=name, bytes=path.stat().st_size, sha256=digest))
        return found

    @model_validator(mode="after")
    def _stays_inside(self) -> Self:
        parts = self.path.split("/")
        if not self.path or self.path.startswith("/") or ".." in parts or "\\" in self.path:
            raise ValueError(f"path {self.path!r} is not relative to the run directory")
        return self


class Manifest(Strict):
    """The whole of ``run.json``.

    ``complete`` turns true only when every phase ended well; ``summary`` and ``validity`` are ``None`` until the
    analysis has run. Not safe to share between threads that change it.
    """

    format: Literal["lsmlab-run"] = FORMAT
    version: Literal[3] = VERSION
    run_id: Annotated[str, Field(pattern=r"^\d{8}T\d{6}Z(-\d+)?$")]
    experiment: Experiment
    runtime: RuntimeName
    complete: bool = False
    phases: list[Phase] = Field(default_factory=list)
    environment: Environment = Field(default_factory=Environment)
    summary: Summary | None = None
    validity: Validity | None = None
    artifacts: list[Artifact] = Field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Read ``path``. Raises ``ManifestError`` for a file that is missing, not JSON, or not this version's."""
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise ManifestError(f"{path}: cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise ManifestError(f"{path}: not UTF-8 text at byte {error.start}") from error
        _identify(path, text)
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise ManifestError(_explain(path, error)) from error

    def write(self, path: Path) -> None:
        """Write ``path`` atomically: a reader sees the old file or the new one, never a part of one."""
        document = Manifest.model_validate(self.model_dump()).model_dump_json(indent=2) + "\n"
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        scratch = Path(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(document)
                file.flush()
                os.fsync(file.fileno())
            scratch.chmod(0o644)
            scratch.replace(path)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of ``run.json``."""
    body = Manifest.model_json_schema(mode="serialization")
    body["title"] = "The manifest of a run"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:lsmlab:run:3", **body}


def _identify(path: Path, text: str) -> None:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ManifestError(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ManifestError(f'{path}: not a run\'s manifest: "format" must be "{FORMAT}"')
    if document.get("version") != VERSION:
        raise ManifestError(
            f"{path}: version {document.get('version')!r} of the manifest; this lab reads version {VERSION}: "
            "run again, or use the lab of that time"
        )


def _explain(path: Path, error: ValidationError) -> str:
    problems = [
        f"{'.'.join(str(step) for step in problem['loc']) or 'the document'}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_input=False)
    ]
    return f"{path}: not a valid manifest: " + "; ".join(problems)
