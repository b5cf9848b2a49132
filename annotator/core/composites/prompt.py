"""What a model reads before the first round: the rules of the dialogue, the functions, and the tasks."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from annotator.core.composites.messages import COMPLETED, write_content

_RULES = """\
You have several tasks to finish. The tasks do not depend on each other. Each task has its own environment, and a call
changes only the environment of the task that it names.

You act by calling functions. The result of a call may come some rounds later: until then you are told that the
function is being executed. Meanwhile you can go on with other tasks, but do not use a result before you have it.

Answer with exactly one JSON object in each round, which calls one function:

```
{"id": "the task", "func_name": "the function", "params": {"parameter": "value"}}
```

When all tasks are completed, answer:

```
%(completed)s
```

These are the functions, in JSON:

```
%(functions)s
```
"""


def system_prompt(functions: Sequence[Mapping[str, Any]]) -> str:
    """Return the system's message. ``functions``: name, description and parameters of each, for all tasks."""
    listed = json.dumps(list(functions), ensure_ascii=False, indent=1)
    return _RULES % {"completed": write_content(COMPLETED), "functions": listed}


def first_message(tasks: Mapping[str, str]) -> str:
    """Return the user's message. ``tasks``: id → question."""
    listed = json.dumps([{"id": name, "question": question} for name, question in tasks.items()], ensure_ascii=False)
    return f"These are the tasks to finish:\n\n```\n{listed}\n```"
