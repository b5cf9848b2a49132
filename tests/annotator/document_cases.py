"""Documents for tests of comparing, merging and editing: a small one by hand, and hypothesis strategies."""

from random import Random
from typing import Any

from hypothesis import strategies as st

from annotator.core.schema import read_document

Document = dict[str, Any]


def call(step_id: str, name: str = "search", depends_on: Any = (), **fields: Any) -> dict[str, Any]:
    arguments = fields.pop("arguments", {"city": "Oslo"})
    return {
        "type": "call", "id": step_id, "name": name, "arguments": arguments,
        "depends_on": on(depends_on), "observation": fields.pop("observation", {"rows": [1, 2]}), **fields,
    }  # fmt: skip


def answer(step_id: str, text: str | None = "Done.", depends_on: Any = ()) -> dict[str, Any]:
    return {"type": "answer", "id": step_id, "text": text, "answer_type": "tool", "depends_on": on(depends_on)}


def clarification(step_id: str, question: str = "Which city?", depends_on: Any = ()) -> dict[str, Any]:
    return {
        "type": "clarification", "id": step_id, "question": question, "user_reply": "Oslo", "depends_on": on(depends_on)
    }  # fmt: skip


def on(ids: Any) -> Any:
    """Dependencies from ids; None stays “not annotated”."""
    if ids is None:
        return None
    return [{"id": key, "kind": "parameter"} if isinstance(key, str) else key for key in ids]


def task(task_id: str, *steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": task_id, "user_message": fields.pop("user_message", f"Do {task_id}."), "steps": list(steps), **fields}


def document(*tasks: dict[str, Any], **fields: Any) -> Document:
    return read_document({"kind": "multi_turn", "tasks": list(tasks), **fields})


def trip() -> Document:
    """Two tasks: three calls of which the last needs the others, and a chat."""
    return document(
        task(
            "t1",
            call("s1", "searchFlights", arguments={"city": "Oslo", "filters": {"stops": 0, "cabin": ["eco", "biz"]}}),
            call("s2", "getWeather", arguments={"city": "Oslo"}),
            call("s3", "bookFlight", depends_on=["s1", "s2"], arguments={"flight": "TP433"}),
            answer("s4", "Booked TP433.", depends_on=["s3"]),
            policy="multi_tool", information="explicit", user_message="Fly me to Oslo if it is dry.",
            candidate_messages=[{"id": "m1", "text": "Book Oslo."}, {"id": "m2", "text": "Oslo, please."}],
        ),
        task("t2", answer("s1", "You are welcome."), policy="chat", user_message="Thanks!"),
        language="en", env_info="2026-05-01",
        context=[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
    )  # fmt: skip


def plain(value: Any) -> Any:
    """A document with dependencies in a fixed order: they are sets."""
    if isinstance(value, dict):
        out = {key: plain(item) for key, item in value.items()}
        if isinstance(out.get("depends_on"), list):
            out["depends_on"] = sorted(out["depends_on"], key=lambda d: (d["id"], d["kind"]))
        return out
    return [plain(item) for item in value] if isinstance(value, list) else value


WORDS = ["", "a", "b", "a b", "a  b ", "北京", "x/y~z"]


def documents(*, annotated: bool = False) -> st.SearchStrategy[Document]:
    """Documents over few ids and values, so that any two have much in common and much not.

    An edge always leads to a lower id, so that no two documents can make a circle together. Drawn from a seed: a
    hundred times faster than draw by draw.
    """
    return st.integers(0, 2**32).map(lambda seed: _document(Random(seed), annotated=annotated))


def _document(random: Random, *, annotated: bool) -> Document:
    ids = _some(random, ["t1", "t2", "t3"]) or ["t1"]
    tasks = [
        task(
            task_id,
            *_steps(random, annotated=annotated),
            user_message=random.choice(WORDS),
            policy=random.choice([None, "single_tool", "chat"]),
            candidate_messages=[{"id": key, "text": random.choice(WORDS)} for key in _some(random, ["m1", "m2"])],
            extra={key: _value(random) for key in _some(random, ["x", "y"])},
        )
        for task_id in ids
    ]
    context = [{"role": "user", "content": random.choice(WORDS)} for _ in range(random.randint(0, 2))]
    return document(*tasks, env_info=random.choice([None, *WORDS]), context=context)


def _steps(random: Random, *, annotated: bool) -> list[dict[str, Any]]:
    ids = _some(random, ["s1", "s2", "s3", "s4", "s5"])
    steps = []
    for step_id in ids:
        depends_on: Any = [
            {"id": key, "kind": random.choice(["parameter", "logical"])}
            for key in _some(random, [other for other in ids if other < step_id])
        ]
        if not annotated and random.random() < 0.3:
            depends_on = None
        if random.random() < 0.7:
            arguments = {key: _value(random) for key in _some(random, WORDS[:3])}
            name = random.choice(["search", "book"])
            steps.append(
                call(step_id, name, depends_on, arguments=random.choice([arguments, arguments, "not json"]),
                     observation=_value(random))
            )  # fmt: skip
        else:
            steps.append(clarification(step_id, random.choice(WORDS), depends_on))
    if random.random() < 0.5:
        # Its id is its own: of two answers with different ids one would have to go.
        steps.append(answer("s9", random.choice(WORDS), _some(random, ids)))
    return steps


def _some(random: Random, items: list[Any]) -> list[Any]:
    return random.sample(items, random.randint(0, len(items)))


def _value(random: Random, depth: int = 0) -> Any:
    kind = random.randint(0, 4 if depth else 6)
    if kind == 5:
        return [_value(random, depth + 1) for _ in range(random.randint(0, 2))]
    if kind == 6:
        return {key: _value(random, depth + 1) for key in _some(random, WORDS[:3])}
    return [None, True, 1, 0, random.choice(WORDS)][kind]
