"""A dataset as a runtime makes it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from lab.errors import RunError

HAVE_OWN_DATASETS = frozenset({"textbook"})
"""The engines besides `lsm` whose stores load-dataset writes."""


@dataclass(frozen=True)
class DatasetSpec:
    """A dataset, as experiments/datasets.yaml declares it. None stands for load-dataset's own default.

    `engine` is the engine that its store is written for, see `written_for`.
    """

    name: str
    pairs: int
    value_bytes: int
    seed: int
    tables: int
    overlapping: bool | None = None
    unique_percent: int | None = None
    one_byte_pairs: int | None = None
    block_bytes: int | None = None
    bloom_bits_per_key: int | None = None
    compression: str | None = None
    engine: str | None = None

    def written_for(self, engine: str) -> DatasetSpec:
        """Return the dataset for a service with this engine: its own store, or one that it copies the pairs from."""
        return replace(self, engine=engine if engine in HAVE_OWN_DATASETS else None)

    def declaration(self) -> dict[str, str | int | bool]:
        """Return what determines the dataset's bytes: the declaration without the name."""
        return {key: value for key, value in asdict(self).items() if key != "name" and value is not None}

    def words(self) -> list[str]:
        """Return the options of load-dataset."""
        words = []
        for key, value in self.declaration().items():
            option = f"--{key.replace('_', '-')}"
            if not isinstance(value, bool):
                words += [option, str(value)]
            elif value:
                words.append(option)
        return words

    @staticmethod
    def read_output(output: str) -> dict[str, Any]:
        """Return the JSON object that load-dataset printed; other lines may follow it. RunError if there is none."""
        for line in reversed(output.splitlines()):
            if line.startswith("{"):
                document: dict[str, Any] = json.loads(line)
                return document
        raise RunError("load-dataset succeeded but printed no JSON object", log_tail=output[-2000:])
