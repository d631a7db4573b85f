"""``run.json``: it is read back as written, errors are refused, and the published schema is the model's."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from lab.manifest import (
    Artifact,
    Check,
    Distribution,
    Errors,
    Experiment,
    Manifest,
    ManifestError,
    Measurement,
    Phase,
    Summary,
    Validity,
    schema,
)
from support.made_up_experiment import made_up_experiment

START = datetime(2026, 11, 21, 9, 14, 33, tzinfo=UTC)


def manifest() -> Manifest:
    latency = Distribution(count=1000, mean=1.5, min=0.1, max=9.0, percentiles={"50": 1.2, "99": 7.25})
    measured = Measurement(
        source="measure/1",
        rate_offered_per_s=100,
        rate_achieved_per_s=99.9,
        requests=1000,
        latency_ms=latency,
        errors=Errors(timeout=1),
        status={"200": 999},
    )
    summary = Summary(**{**measured.model_dump(), "source": "measure"}, repetitions=[measured])
    return Manifest(
        run_id="20261121T091433Z",
        experiment=Experiment(
            name="stack-get",
            title="GET",
            resolved=made_up_experiment(jvm=("-Xmx2g",), deadline="10ms").model_copy(update={"repeat": 120}),
            overrides={"rate": 100},
        ),
        runtime="local",
        phases=[Phase(name="measure", start=START, end=START + timedelta(seconds=2), outcome="ok", repetition=1)],
        summary=summary,
        validity=Validity(
            state="suspect",
            reasons=["one timeout"],
            checks=[Check(name="errors", outcome="warn", detail="one timeout")],
        ),
        artifacts=[Artifact(path="measure/1/load.txt", bytes=12, sha256="0" * 64)],
    )


def test_a_written_manifest_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    manifest().write(path)
    assert Manifest.read(path) == manifest()
    assert [file.name for file in tmp_path.iterdir()] == ["run.json"], "a scratch file was left"


def test_times_are_written_as_rfc_3339_in_utc(tmp_path: Path) -> None:
    manifest().write(tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_text())["phases"][0]["start"] == "2026-11-21T09:14:33Z"


def test_the_written_file_validates_against_the_published_schema(tmp_path: Path) -> None:
    manifest().write(tmp_path / "run.json")
    published = json.loads((resources.files("lab") / "schemas/run.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(published)
    validator.check_schema(published)
    document = json.loads((tmp_path / "run.json").read_text())
    validator.validate(document)
    document["summary"]["latency_ms"]["medain"] = 1
    assert not validator.is_valid(document)


def test_the_published_schema_is_the_one_of_the_model() -> None:
    published = (resources.files("lab") / "schemas/run.schema.json").read_text(encoding="utf-8")
    assert published == json.dumps(schema(), indent=2) + "\n", (
        "run: python -m lab.manifest > lab/src/lab/schemas/run.schema.json"
    )


def test_a_write_that_fails_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.json"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        manifest().write(path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["run.json"], "a scratch file was left"


def test_a_document_made_invalid_in_place_is_not_written(tmp_path: Path) -> None:
    wrong = manifest()
    wrong.phases.append("measure")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="phases"), pytest.warns(UserWarning, match="serializ"):
        wrong.write(tmp_path / "run.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "not a run's manifest"),
        ({"version": 2}, "version 2 of the manifest; this lab reads version 3"),
        ({"experiment": {"name": "x", "title": "x", "resolved": {"colour": "red"}}}, "resolved.colour: Extra inputs"),
        ({"colour": "red"}, "colour: Extra inputs are not permitted"),
        ({"complete": "yes"}, "complete: Input should be a valid boolean"),
        ({"runtime": "podman"}, "runtime: Input should be 'local', 'docker' or 'kubernetes'"),
        ({"run_id": "today"}, "run_id: String should match pattern"),
        ({"artifacts": [{"path": "../x", "bytes": 1, "sha256": "0" * 64}]}, "not relative to the run directory"),
        ({"validity": {"state": "suspect", "reasons": []}}, "any other at least one"),
    ],
)
def test_errors_name_the_file_and_the_field(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "run.json"
    manifest().write(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ManifestError) as error:
        Manifest.read(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"{", "not JSON"), (b"[]", "not a run's manifest"), (b"\xff", "not UTF-8"), (None, "No such file")],
)
def test_a_file_that_is_no_manifest_is_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "run.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ManifestError, match=message):
        Manifest.read(path)


def test_a_time_of_day_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="timezone"):
        Phase(name="measure", start=START.replace(tzinfo=None), end=START, outcome="ok")
