"""A dialogue without a fault, and small hands to put one in."""

from typing import Any

from annotator.core.checks import CheckSettings, Finding, Stage, run_checks
from annotator.core.checks.similarity import bands, compare, traits_of
from annotator.core.schema import read_document
from annotator.core.schema.toolsets import CompiledToolset


def tool(name: str, required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required or []}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}


PLACE = {"type": "object", "properties": {"latitude": {"type": "float"}, "longitude": {"type": "float"}}}
TOOLS = [
    tool("searchHotels", ["city"], city={"type": "string"}, stars={"type": "int"}, area=PLACE),
    tool(
        "book_room",
        ["hotelId", "nights"],
        hotelId={"type": "string"},
        nights={"type": "integer", "minimum": 1},
        board={"type": "string", "enum": ["none", "breakfast", "full"]},
        guests={
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        },
        contact={"anyOf": [{"type": "string"}, {"type": "null"}]},
    ),
    tool("translate", ["text"], text={"type": "string"}),
]
TOOLSET = CompiledToolset.of_tools(TOOLS)


def depends(needs: str | None) -> list[dict[str, str]] | None:
    return None if needs is None else [{"id": need, "kind": "parameter"} for need in needs.split()]


def call(step: str, name: str, needs: str | None = "", observation: Any = "done", **arguments: Any) -> dict[str, Any]:
    return {
        "type": "call",
        "id": step,
        "name": name,
        "arguments": arguments,
        "observation": observation,
        "depends_on": depends(needs),
    }


def ask(
    step: str, needs: str | None = "", question: str | None = "Which?", reply: str | None = "Any."
) -> dict[str, Any]:
    return {
        "type": "clarification",
        "id": step,
        "question": question,
        "user_reply": reply,
        "depends_on": depends(needs),
    }


def answer(needs: str | None = "", text: str | None = "Done.", kind: str | None = "tool") -> dict[str, Any]:
    return {"type": "answer", "id": "a", "text": text, "answer_type": kind, "depends_on": depends(needs)}


def task(
    task_id: str, policy: str | None, information: str | None, *steps: dict[str, Any], message: str = "Please do."
) -> dict[str, Any]:
    return {
        "id": task_id,
        "user_message": message,
        "policy": policy,
        "information": information,
        "steps": list(steps),
    }


def document(*tasks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return read_document({"kind": "multi_turn", "language": "en", "tasks": list(tasks), **more})


def good() -> dict[str, Any]:
    """Four tasks, one of each policy, with nothing to complain about at any stage."""
    hotels = {"response": {"hotels": [{"hotelId": "H-17", "name": "Mur"}, {"hotelId": "H-20", "name": "Uhrturm"}]}}
    return document(
        task(
            "t1",
            "single_tool",
            "explicit",
            call("s0", "searchHotels", observation=hotels, city="Graz", stars=3),
            answer("s0", "In Graz there are Mur (H-17) and Uhrturm (H-20)."),
            message="Which hotels with three stars are there in Graz?",
        ),
        task(
            "t2",
            "multi_tool",
            "coreferential_reference",
            call("s0", "book_room", hotelId="H-17", nights=2, board="breakfast", guests=[{"name": "Ana"}]),
            call("s1", "translate", text="Bis bald"),
            {
                **call("s2", "searchHotels", "s0", city="Linz", area={"latitude": 48.3, "longitude": 14.3}),
                "inferable": {"/area": "Where Linz lies."},
            },
            answer("s1 s2", "The room is booked; see you soon; Linz has no hotel with three stars."),
            message="Book the first one for two nights for Ana, translate “Bis bald”, then look in Linz, too.",
        ),
        task(
            "t3",
            "clarify",
            "partial_information",
            ask("s0", question="For how many nights?", reply="Three."),
            call("s1", "book_room", "s0", hotelId="H-20", nights=3),
            answer("s1", "The second room is booked for three nights."),
            message="And the other one.",
        ),
        task(
            "t4",
            "chat",
            "long_range_dependency",
            answer("", "No tool here can cancel the very first search.", "chat"),
            message="Can you undo what I asked at the very beginning?",
        ),
        env_info="2024-07-12",
    )


def findings(
    document: dict[str, Any],
    stage: Stage = "submit",
    *,
    toolset: CompiledToolset = TOOLSET,
    settings: CheckSettings | None = None,
) -> list[Finding]:
    return run_checks(document, toolset, stage=stage, settings=settings or CheckSettings())


def of(check: str, document: dict[str, Any], stage: Stage = "submit", **more: Any) -> list[tuple[str, str]]:
    """Anchors and messages of one check's findings."""
    return [(one.anchor, one.message) for one in findings(document, stage, **more) if one.check == check]


def alike(text: str, other: str) -> int:
    """How alike the search for near-duplicates finds two texts, in percent; 0 if they share no band."""
    first, second = traits_of(text), traits_of(other)
    if first is None or second is None:
        return 0
    share = any(one == two for one, two in zip(bands(first), bands(second), strict=False))
    return compare(first, second).percent if share else 0
