"""Edit operations."""

import copy
from types import SimpleNamespace

import pytest

from annotator.core.comparison import diff, resolve
from annotator.core.editing import OPERATIONS, EditProblem, apply
from annotator.core.editing.steps import find_circle
from tests.annotator.document_cases import answer, call, clarification, document, on, task, trip

T1 = "/tasks/t1"
S1, S2, S3, S4 = (f"{T1}/steps/s{n}" for n in (1, 2, 3, 4))


def do(op, anchor="", data=None, toolset=None, **fields):
    """The document after the edit and the anchor touched; the one before must be as it was."""
    data = data or trip()
    seen = copy.deepcopy(data)
    result, touched = apply(data, {"op": op, "anchor": anchor, **fields}, toolset=toolset)
    assert data == seen
    return result, touched


def refused(op, anchor="", data=None, toolset=None, **fields):
    """The sentence and the place of a refused edit."""
    data = data or trip()
    seen = copy.deepcopy(data)
    with pytest.raises(EditProblem) as caught:
        apply(data, {"op": op, "anchor": anchor, **fields}, toolset=toolset)
    assert data == seen
    assert caught.value.message.endswith((".", ")"))
    return caught.value.message, caught.value.anchor


def changes(op, anchor="", **fields):
    """{anchor: after} of what the edit changes."""
    return {c.anchor: c.after for c in diff(trip(), do(op, anchor, **fields)[0])}


def ids(data, task_id="t1"):
    return [step["id"] for step in resolve(data, f"/tasks/{task_id}/steps")]


# --- values


@pytest.mark.parametrize(
    ("anchor", "value"),
    [
        ("/env_info", "2026-06-01"),
        ("/language", "zh"),
        ("/context/0/content", "Hey"),
        ("/context/0/role", "system"),
        (f"{T1}/user_message", ""),
        (f"{T1}/policy", "clarify"),
        (f"{T1}/policy", None),
        (f"{T1}/information", "long_range_dependency"),
        (f"{T1}/env_info", "2026-06-02"),
        (f"{T1}/candidate_messages/m1/text", "Other"),
        (f"{S1}/name", "getAir"),
        (f"{S1}/arguments", {"a": [1, {"b": None}]}),
        (f"{S1}/arguments/filters/cabin/0", "first"),
        (f"{S1}/observation", "plain"),
        (f"{S1}/observation/rows/1", {"x": 1}),
        (f"{S3}/depends_on", None),
        (f"{S4}/text", "No."),
        (f"{S4}/answer_type", "chat"),
    ],
)
def test_a_value_is_set_where_it_stands(anchor, value):
    result, touched = do("set", anchor, value=value)
    assert resolve(result, anchor) == value
    assert touched == anchor


@pytest.mark.parametrize("anchor", ["/env_info", "/language", f"{T1}/policy", f"{S4}/text", f"{S4}/answer_type"])
def test_what_is_left_blank_is_not_annotated(anchor):
    assert resolve(do("set", anchor, value=" ")[0], anchor) is None


def test_the_fields_of_a_clarification():
    data = document(task("t1", clarification("s1")))
    result, _ = do("set", "/tasks/t1/steps/s1/question", data=data, value="Where to?")
    result, _ = do("set", "/tasks/t1/steps/s1/user_reply", data=result, value="")
    assert result["tasks"][0]["steps"][0]["question"] == "Where to?"
    assert result["tasks"][0]["steps"][0]["user_reply"] is None


def test_line_ends_of_a_browser_are_no_edit():
    data = document(task("t1", user_message="a\r\nb\nc"))
    assert do("set", "/tasks/t1/user_message", data=data, value="a\r\nb\r\nc")[0] == data
    assert do("set", "/tasks/t1/user_message", data=data, value="x\r\ny")[0]["tasks"][0]["user_message"] == "x\ny"
    data = document(task("t1", user_message="a\rb"))
    assert do("set", "/tasks/t1/user_message", data=data, value="a\nb")[0] == data


@pytest.mark.parametrize(
    "anchor",
    [
        "", "/kind", "/tasks", "/tasks/t1", "/tasks/t1/id", "/tasks/t1/steps", S1, f"{S1}/id", f"{S1}/type",
        f"{S1}/extra", f"{S1}/question", f"{S4}/name", f"{T1}/chosen", "/context/0", "/extra", f"{S4}/arguments/x",
        f"{S1}/name/x",
    ],
)  # fmt: skip
def test_what_is_no_single_value_cannot_be_set(anchor):
    refused("set", anchor, value="x")


@pytest.mark.parametrize(
    "anchor",
    ["/tasks/t9/policy", f"{T1}/steps/s9/text", "/context/7/content", f"{T1}/candidate_messages/m9/text", "/no/where"],
)
def test_a_place_that_is_gone_is_said(anchor):
    message, _ = refused("set", anchor, value="x")
    assert "no longer exists" in message


@pytest.mark.parametrize(
    ("anchor", "value", "words"),
    [
        (f"{T1}/policy", "talk", "Must be one of 'single_tool'"),
        (f"{T1}/user_message", None, "must be text"),
        (f"{T1}/user_message", 5, "must be text"),
        (f"{S4}/text", ["x"], "must be text"),
        ("/language", "fr", "Must be one of 'en' or 'zh'"),
        (f"{S1}/name", " ", "Choose a tool"),
        (f"{S1}/arguments", [], "JSON object"),
        (f"{S1}/observation", float("nan"), "NaN"),
        (f"{S1}/observation", "a\x00b", "NUL"),
        (f"{T1}/user_message", "x" * 200_001, "200,001 characters"),
        (f"{T1}/user_message", "\ud800", "surrogate"),
    ],
)
def test_values_no_document_may_hold(anchor, value, words):
    message, place = refused("set", anchor, value=value)
    assert words in message
    assert place == anchor


def test_a_value_must_be_given():
    assert refused("set", "/env_info") == ("The edit has no value.", "/env_info")


def test_language_and_environment_by_their_own_names():
    assert changes("set_language", value="zh") == {"/language": "zh"}
    assert changes("set_env_info", value="x") == {"/env_info": "x"}
    assert changes("set_env_info", S2, value="x") == {f"{T1}/env_info": "x"}


# --- the dialogue so far


def test_messages_of_the_dialogue_so_far():
    result, touched = do("add_context", role="user", content="And?")
    assert touched == "/context/2"
    assert resolve(result, touched) == {"role": "user", "content": "And?"}
    result, touched = do("add_context", role="tool", after="0")
    assert (touched, resolve(result, touched)) == ("/context/1", {"role": "tool", "content": ""})
    assert changes("set_context", "/context/1", content="Hi!", role="system") == {
        "/context/1/content": "Hi!", "/context/1/role": "system"
    }  # fmt: skip
    result, touched = do("delete_context", "/context/1")
    assert (len(result["context"]), touched) == (1, "/context/0")
    assert do("delete_context", "/context/0", data=result)[1] == "/context"


def test_wrong_messages_of_the_dialogue_so_far():
    assert "role" in refused("add_context", role="robot")[0]
    assert "position" in refused("add_context", role="user", after=2)[0]
    assert "no such message" in refused("delete_context", "/context/2")[0]
    assert "no such message" in refused("set_context", "/context", content="x")[0]


# --- tasks and candidates


def test_tasks_are_added_moved_and_deleted():
    result, touched = do("add_task", after="t1")
    assert touched == "/tasks/t3"
    assert [t["id"] for t in result["tasks"]] == ["t1", "t3", "t2"]
    assert result["tasks"][1]["steps"] == []
    assert [t["id"] for t in do("add_task", after="/tasks/t2")[0]["tasks"]] == ["t1", "t2", "t3"]
    assert [t["id"] for t in do("move_task", "/tasks/t3", data=result, by=1)[0]["tasks"]] == ["t1", "t2", "t3"]
    assert [t["id"] for t in do("move_task", "/tasks/t3", data=result, to=0)[0]["tasks"]] == ["t3", "t1", "t2"]
    assert do("move_task", "/tasks/t1", by=-1) == (trip(), "/tasks/t1")
    result, touched = do("delete_task", "/tasks/t2")
    assert ([t["id"] for t in result["tasks"]], touched) == (["t1"], "/tasks/t1")
    assert "at least one task" in refused("delete_task", "/tasks/t1", data=result)[0]


@pytest.mark.parametrize("fields", [{}, {"by": 2}, {"by": "1"}, {"by": True}, {"to": 2}, {"to": -1}, {"to": "x"}])
def test_a_move_says_where_to(fields):
    refused("move_task", "/tasks/t1", **fields)


def test_there_is_an_end_to_tasks():
    data = document(*[task(f"t{n}") for n in range(1, 65)])
    assert refused("add_task", data=data)[1] == "/tasks"


def test_choosing_a_candidate_keeps_the_message_it_replaces():
    result, touched = do("choose_candidate", T1, id="m2")
    one = result["tasks"][0]
    assert (touched, one["user_message"], one["chosen"]) == (f"{T1}/user_message", "Oslo, please.", "m2")
    assert [(c["id"], c["text"]) for c in one["candidate_messages"]] == [
        ("m1", "Book Oslo."), ("m2", "Oslo, please."), ("m3", "Fly me to Oslo if it is dry.")
    ]  # fmt: skip
    again, _ = do("choose_candidate", T1, data=result, id="m1")
    assert len(again["tasks"][0]["candidate_messages"]) == 3


def test_an_empty_message_is_no_candidate():
    data = document(task("t1", user_message=" ", candidate_messages=[{"id": "m1", "text": "x"}]))
    assert len(do("choose_candidate", T1, data=data, id="m1")[0]["tasks"][0]["candidate_messages"]) == 1


def test_candidates_are_added():
    result, touched = do("add_candidate", T1, text="Third")
    assert resolve(result, touched)["text"] == "Third"
    assert "empty" in refused("add_candidate", T1, text="\n")[0]
    assert "candidate message no longer exists" in refused("choose_candidate", T1, id="m9")[0]


# --- steps


def test_a_call_goes_before_the_answer():
    result, touched = do("add_step", T1, type="call", name="getAir")
    assert (touched, ids(result)) == (f"{T1}/steps/s5", ["s1", "s2", "s3", "s5", "s4"])
    step = resolve(result, touched)
    assert (step["name"], step["arguments"], step["observation"], step["depends_on"]) == ("getAir", {}, None, None)


@pytest.mark.parametrize(
    ("after", "order"), [("s1", "s1 s5 s2 s3 s4"), (S1, "s1 s5 s2 s3 s4"), ("s4", "s1 s2 s3 s5 s4")]
)
def test_a_step_goes_behind_another_but_never_behind_the_answer(after, order):
    assert ids(do("add_step", T1, type="clarification", after=after)[0]) == order.split()


def test_the_only_step_depends_on_nothing():
    data = document(task("t1"))
    result, touched = do("add_step", T1, data=data, type="answer")
    assert resolve(result, touched)["depends_on"] == []
    result, touched = do("add_step", T1, data=result, type="call", name="x")
    assert (ids(result), resolve(result, touched)["depends_on"]) == (["s2", "s1"], None)


def test_a_task_has_one_answer():
    message, place = refused("add_step", T1, type="answer")
    assert "s4" in message
    assert place == S4


def test_new_ids_are_the_next_free_ones():
    data = document(task("t1", call("s2"), call("call-9"), call("s10"), call("sx")))
    assert do("add_step", T1, data=data, type="answer")[1] == f"{T1}/steps/s11"


def test_a_call_needs_a_tool_that_there_is():
    toolset = SimpleNamespace(tools={"getAir": object()})
    assert do("add_step", T1, toolset=toolset, type="call", name="getAir")
    assert do("set", f"{S1}/name", toolset=toolset, value="getAir")
    for op, anchor, fields in (
        ("add_step", T1, {"type": "call", "name": "nothing"}),
        ("set", f"{S1}/name", {"value": "nothing"}),
    ):
        assert "no tool nothing" in refused(op, anchor, toolset=toolset, **fields)[0]
    assert "Choose a tool" in refused("add_step", T1, type="call")[0]


@pytest.mark.parametrize("fields", [{}, {"type": "thought"}, {"type": ["call"]}, {"type": "call", "name": 5}])
def test_a_step_that_makes_no_sense(fields):
    refused("add_step", T1, **fields)


def test_after_what_is_not_there():
    assert "s9" in refused("add_step", T1, type="clarification", after="s9")[0]


def test_deleting_a_step_drops_the_edges_to_it():
    result, touched = do("delete_step", S1)
    assert (ids(result), touched) == (["s2", "s3", "s4"], S2)
    assert resolve(result, f"{S3}/depends_on") == on(["s2"])
    assert do("delete_step", S4)[1] == S3
    assert do("delete_step", "/tasks/t2/steps/s1")[1] == "/tasks/t2"


def test_steps_move_but_the_answer_stays_last():
    assert do("move_step", S1, by=1) == (do("move_step", S2, to=0)[0], S1)
    assert ids(do("move_step", S1, by=1)[0]) == ["s2", "s1", "s3", "s4"]
    assert do("move_step", S1, by=-1) == (trip(), S1)
    assert do("move_step", S3, by=1) == (trip(), S3)
    assert do("move_step", S4, by=-1) == (trip(), S4)
    assert "last step" in refused("move_step", S1, to=3)[0]
    assert "last step" in refused("move_step", S4, to=0)[0]


def test_an_answer_that_is_not_last_can_be_moved_there():
    data = document(task("t1", answer("s1"), call("s2")))
    assert ids(do("move_step", S1, data=data, by=1)[0]) == ["s2", "s1"]


def test_a_copy_of_a_call_waits_for_its_own_observation():
    data = trip()
    data["tasks"][0]["steps"][2]["extra"] = {"idx": 2}
    result, touched = do("duplicate_step", S3, data=data)
    assert ids(result) == ["s1", "s2", "s3", "s5", "s4"]
    copied = resolve(result, touched)
    assert (copied["arguments"], copied["depends_on"]) == ({"flight": "TP433"}, on(["s1", "s2"]))
    assert (copied["observation"], copied["extra"]) == (None, {})
    assert "one answer" in refused("duplicate_step", S4)[0]


# --- dependencies


def test_dependencies_are_set_in_the_order_of_the_steps():
    value = [{"id": "s2", "kind": "logical"}, {"id": "s1"}]
    result, touched = do("set_dependencies", S4, value=value)
    assert touched == f"{S4}/depends_on"
    assert resolve(result, touched) == [{"id": "s1", "kind": "parameter"}, {"id": "s2", "kind": "logical"}]
    assert changes("set_dependencies", f"{S3}/depends_on", value=None) == {f"{S3}/depends_on": None}
    assert changes("set_dependencies", S3, value=[]) == {f"{S3}/depends_on": []}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("s1", "a list of steps, or null"),
        ([1], "id of a step and a kind"),
        ([{"kind": "logical"}], "id of a step and a kind"),
        ([{"id": "s1", "why": "x"}], "id of a step and a kind"),
        ([{"id": "s1", "kind": "magic"}], "Must be one of 'parameter'"),
        ([{"id": "s9"}], "no step s9"),
        ([{"id": "s3"}], "on itself"),
        ([{"id": "s4"}], "s4 is the answer"),
        ([{"id": "s1"}, {"id": "s1", "kind": "logical"}], "twice"),
    ],
)
def test_dependencies_that_make_no_sense(value, words):
    message, place = refused("set_dependencies", S3, value=value)
    assert words in message
    assert place.startswith(f"{S3}/depends_on")


def test_a_circle_is_refused_and_shown():
    data, _ = do("set_dependencies", S2, value=on(["s1"]))
    message, place = refused("set_dependencies", S1, data=data, value=on(["s3"]))
    assert "s1 → s3 → s1" in message
    assert place == f"{S1}/depends_on"
    data, _ = do("set_dependencies", S3, data=data, value=on(["s2"]))
    assert "s1 → s3 → s2 → s1" in refused("add_dependency", S1, data=data, id="s3")[0]


def test_a_circle_elsewhere_does_not_get_in_the_way():
    data = document(task("t1", call("s1", depends_on=["s2"]), call("s2", depends_on=["s1"]), call("s3")))
    assert do("set_dependencies", S3, data=data, value=on(["s1"]))
    assert find_circle(data["tasks"][0]["steps"], "s3", ["s1"]) == []


def test_edges_one_by_one():
    assert changes("add_dependency", S4, id="s1", kind="logical") == {
        f"{S4}/depends_on": [{"id": "s1", "kind": "logical"}, {"id": "s3", "kind": "parameter"}]
    }
    assert changes("add_dependency", S4, id="s3", kind="logical") == {
        f"{S4}/depends_on": [{"id": "s3", "kind": "logical"}]
    }
    assert changes("remove_dependency", S4, id="s3") == {f"{S4}/depends_on": []}
    assert "does not depend on s1" in refused("remove_dependency", S4, id="s1")[0]


# --- operations as such


@pytest.mark.parametrize("op", [{}, {"op": None}, {"op": ["set"]}, {"op": "explode"}])
def test_an_unknown_operation(op):
    with pytest.raises(EditProblem, match="no edit “"):
        apply(trip(), op)


@pytest.mark.parametrize("anchor", [None, 5, "tasks/t1", ["/tasks"]])
@pytest.mark.parametrize("op", sorted(OPERATIONS))
def test_an_anchor_that_is_none(op, anchor):
    with pytest.raises(EditProblem):
        apply(trip(), {"op": op, "anchor": anchor})


@pytest.mark.parametrize(
    "anchor", ["", "/", "/tasks", T1, f"{T1}/steps", S1, f"{S1}/arguments", f"{S1}/arguments/x", "/a/b/c/d/e/f"]
)
@pytest.mark.parametrize("op", sorted(OPERATIONS))
def test_no_operation_breaks_on_what_it_is_not_meant_for(op, anchor):
    """Every operation either gives a valid document or a sentence."""
    for value in (None, 5, "x", [], {}, [{"id": {}}], {"a": {}}):
        fields = dict.fromkeys(
            ("value", "text", "id", "to", "by", "after", "reason", "argument", "name", "role", "as"), value
        )
        try:
            apply(trip(), {"op": op, "anchor": anchor, "type": "call", **fields})
        except EditProblem as problem:
            assert problem.message  # noqa: PT017
