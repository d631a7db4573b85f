"""Prints the JSON Schema of run.json."""

import json

from lab.manifest.document import schema

print(json.dumps(schema(), indent=2))
