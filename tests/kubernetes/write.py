"""`python -m tests.kubernetes.write`: what is generated of the chart.

The names of settings in its values.schema.json, and the golden renders of its example values.
"""

import json

from tests.kubernetes import settings
from tests.kubernetes.chart import EXAMPLES, SCHEMA, golden, render
from tests.kubernetes.installing import install, tools


def schema() -> str:
    """values.schema.json as it must be: each process' settings are those that its classes declare."""
    content = json.loads(SCHEMA.read_text())
    for process in settings.processes():
        texts = {name: {"type": "string"} for name in settings.free(process)}
        content["definitions"][f"settings-{process}"]["properties"] = texts
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    install()
    SCHEMA.write_text(schema())
    for example in EXAMPLES:
        golden(example).write_text(render(tools().helm, example))
