"""Edit operations by name: every way in which a person changes a document, as data.

Pages and the API send the same operations. They are stored with a draft and can be repeated on a later version. Each is
an object with ``op``, usually ``anchor``, and its own fields (optional ones in brackets):

    set                 value                   any text, label, tool name, observation, argument or dependencies
    set_language        value
    set_env_info        value                   of the dialogue, or of the task at the anchor
    add_context         role [content, after]   after: an index
    set_context         [role, content]
    delete_context
    add_task            [after, user_message]   after: an id; no anchor needed
    delete_task
    move_task           by: -1 | 1, or to: index
    add_step            type [name, after]      anchor of the task; a call needs the name of its tool
    delete_step
    move_step           by: -1 | 1, or to: index
    duplicate_step
    set_dependencies    value: null | [{id, kind}]
    add_dependency      id [kind]
    remove_dependency   id
    accept_dependencies edges: [{step, id [, kind]}]   anchor of the task; all or none
    set_shape           shape: annotated | independent | chain      anchor of the task
    copy_shape          from: id of a task             anchor of the task
    set_argument        value                   anchor of the argument; "-" as its last step appends to a list
    delete_argument
    rename_argument     to
    set_arguments       text | value            anchor of the call
    set_observation     text [as: json | text] | value
    set_inferable       reason [argument]       anchor of the argument, or of the call with "argument"
    choose_candidate    id                      anchor of the task
    add_candidate       text

A single task accepts all of these that are not about tasks or context, and:

    set                 value                   also its category, and the time at which its clock stands
    set_json            text | value            its initial state, or the seed
    set_calls           text                    anchor of the task; the whole trajectory as Python, one call a line

A composite accepts set, set_language, move_task, and:

    replace_task        single [reason]         anchor of the task; its own single task: use the current revision

A toolset accepts set_language, and:

    set                 value                   name of a function, or a description of it or of a parameter
    set_json            text | value            a whole tool, or the parameters of its function
    set_function        value: {field: text} [of]    anchor of the function; the fields of its form, and of: its hash
    add_tool            name | text | value [after]    after: an id; no anchor needed
    duplicate_tool
    delete_tool
    move_tool           by: -1 | 1, or to: index

A constrained case has no tasks. It accepts set and set_language, and these:

    set_json            text | value            parameters, variants, unsolved set, trajectory, a call's arguments …
    set_code            text [function]         anchor of a validator, or of a tool's code
    set_category        value                   anchor of the constraint; its dimension follows
    set_observation     text [as: json | text] | value     anchor of the call
    add_constraint      category [after]        after: an id; no anchor needed
    delete_constraint
    move_constraint     by: -1 | 1, or to: index
    state_constraint                            writes its text into the system prompt
    add_variant         [name]                  anchor of the constraint; name: the tool called first
    set_variant         value: {[first, parameters]}       anchor of the variant
    delete_variant
    add_round           [name | final, after]   name: of the tool of its first call; else a final response
    delete_round
    move_round          by: -1 | 1, or to: index
    add_call            name [after]            anchor of the round
    delete_call                                 deleting the last call of a round deletes the round
    move_call           by: -1 | 1, or to: index
    add_expected        name                    a tool of the unsolved set
    delete_expected                             anchor of that tool there
"""

from collections.abc import Callable, Mapping
from typing import Any

from annotator.core.comparison import from_pointer
from annotator.core.comparison.anchors import Document
from annotator.core.editing import arguments, case, case_parts, composite, shaping, single, steps, tasks, values
from annotator.core.editing import toolset as toolsets
from annotator.core.editing.problems import EditProblem
from annotator.core.editing.rebasing import (
    About,
    about,
    about_accepted,
    about_edges,
    about_graphs,
    about_inferable,
    about_new,
    about_value,
    is_unchanged,
)
from annotator.core.editing.scope import Edit, Tools
from annotator.core.schema import SchemaProblem, read_document

Op = Mapping[str, Any]
#: The function that makes the edit, and what the edit is about: places that must be unchanged if it is made again on a
#: later version of the document.
Operation = tuple[Callable[[Edit], str], About]

#: The operations on a dialogue of tasks.
OPERATIONS: dict[str, Operation] = {
    "set": (values.set_value, about_value),
    "set_language": (values.set_language, about("/language")),
    "set_env_info": (values.set_env_info, about("{item}/env_info")),
    "add_context": (values.add_context, about("/context")),
    "set_context": (values.set_context, about("{anchor}")),
    "delete_context": (values.delete_context, about("/context")),
    "add_task": (tasks.add_task, about_new("/tasks")),
    "delete_task": (tasks.delete_task, about("{anchor}")),
    "move_task": (tasks.move_task, about("{list}#order", "{anchor}/id")),
    "choose_candidate": (
        tasks.choose_candidate,
        about("{item}/user_message", "{item}/chosen", "{item}/candidate_messages/{id}/text"),
    ),
    "add_candidate": (tasks.add_candidate, about("{item}/id")),
    "add_step": (steps.add_step, about_new("{item}/steps", "{item}/id")),
    "delete_step": (steps.delete_step, about("{anchor}")),
    "move_step": (steps.move_step, about("{list}#order", "{anchor}/id")),
    "duplicate_step": (steps.duplicate_step, about("{anchor}")),
    "set_dependencies": (steps.set_dependencies, about_edges),
    "add_dependency": (steps.add_dependency, about_edges),
    "remove_dependency": (steps.remove_dependency, about_edges),
    "accept_dependencies": (shaping.accept_dependencies, about_accepted),
    "set_shape": (shaping.set_shape, about_graphs),
    "copy_shape": (shaping.copy_shape, about_graphs),
    "set_argument": (arguments.set_argument, about_value),
    "delete_argument": (arguments.delete_argument, about_value),
    "rename_argument": (arguments.rename_argument, about_value),
    "set_arguments": (arguments.set_arguments, about("{step}/arguments", "{step}/name")),
    "set_inferable": (arguments.set_inferable, about_inferable),
    "set_observation": (arguments.set_observation, about("{step}/observation", "{step}/name")),
}
#: The operations on a constrained case.
CASE_OPERATIONS: dict[str, Operation] = {
    "set": (case.set_value, about_value),
    "set_language": (case.set_language, about("/language")),
    "set_json": (case.set_json, about_value),
    "set_code": (case.set_code, about("{anchor}")),
    "set_category": (case.set_category, about("{anchor}")),
    "set_observation": (case.set_observation, about("{step}/observation", "{step}/name")),
    "add_constraint": (case_parts.add_constraint, about_new("/constraints")),
    "delete_constraint": (case_parts.delete_constraint, about("{anchor}")),
    "move_constraint": (case_parts.move_constraint, about("{list}#order", "{anchor}/id")),
    "state_constraint": (case_parts.state_constraint, about("/system_prompt", "{item}/text", "{item}/anchor")),
    "add_variant": (case_parts.add_variant, about("{item}/variants", "{item}/category")),
    "set_variant": (case_parts.set_variant, about("{item}/variants", "{item}/category")),
    "delete_variant": (case_parts.delete_variant, about("{item}/variants", "{item}/category")),
    "add_round": (case_parts.add_round, about_new("/reference_trajectory")),
    "delete_round": (case_parts.delete_round, about("{anchor}")),
    "move_round": (case_parts.move_round, about("{list}#order", "{anchor}/id")),
    "add_call": (case_parts.add_call, about_new("{item}/calls", "{item}/id", "{item}/final")),
    "delete_call": (case_parts.delete_call, about("{anchor}", "{item}/calls#order")),
    "move_call": (case_parts.move_call, about("{list}#order", "{anchor}/id")),
    "add_expected": (case_parts.add_expected, about("/unsolved_set/{name}")),
    "delete_expected": (case_parts.delete_expected, about("{anchor}")),
}
#: The operations on a single task: those on a task and its calls, and on what the task starts from.
SINGLE_OPERATIONS: dict[str, Operation] = {
    name: operation
    for name, operation in OPERATIONS.items()
    if name not in ("add_task", "delete_task", "move_task", "add_context", "set_context", "delete_context")
} | {
    "set": (single.set_value, about_value),
    "set_json": (single.set_json, about("{anchor}")),
    "set_calls": (single.set_calls, about("{anchor}/steps")),
}
#: The operations on a composite.
COMPOSITE_OPERATIONS: dict[str, Operation] = {
    "set": (composite.set_value, about_value),
    "set_language": OPERATIONS["set_language"],
    "move_task": OPERATIONS["move_task"],
    "replace_task": (composite.replace_task, about("{anchor}")),
}
#: The operations on a toolset.
TOOLSET_OPERATIONS: dict[str, Operation] = {
    "set": (toolsets.set_value, about_value),
    "set_language": OPERATIONS["set_language"],
    "set_json": (toolsets.set_json, about("{anchor}")),
    "set_function": (toolsets.set_function, about("{item}")),
    "add_tool": (toolsets.add_tool, about_new("/tools")),
    "duplicate_tool": (toolsets.duplicate_tool, about("{item}")),
    "delete_tool": (toolsets.delete_tool, about("{item}")),
    "move_tool": (toolsets.move_tool, about("{list}#order", "{anchor}/id")),
}
_BY_KIND = {
    "multi_turn": OPERATIONS,
    "single_task": SINGLE_OPERATIONS,
    "composite": COMPOSITE_OPERATIONS,
    "constrained": CASE_OPERATIONS,
    "toolset": TOOLSET_OPERATIONS,
}


def apply(document: Document, op: Op, *, toolset: Tools | None = None) -> tuple[Document, str]:
    """Return the document after one operation, and the anchor to look at. ``document`` itself is not changed.

    With a ``toolset``, a call can only get one of its tools. Raises EditProblem with a sentence; the result is a valid
    document.
    """
    operation = _find(op, document)
    if operation is None:
        name = op.get("op")
        known = isinstance(name, str) and any(name in operations for operations in _BY_KIND.values())
        of_others = " for dialogues of this kind" if known else ""
        raise EditProblem("", f"There is no edit “{str(name)[:40]}”{of_others}.")
    run, _ = operation
    edit = Edit(document, op, toolset)
    touched = run(edit)
    try:
        return read_document(edit.document), touched
    except SchemaProblem as problem:
        first = problem.problems[0]
        anchor = from_pointer(edit.document, first.pointer)
        raise EditProblem(anchor, first.message) from None


def can_rebase(op: Op, seen: Document, current: Document) -> bool:
    """Return whether everything that the edit is about is in ``current`` as its editor saw it in ``seen``.

    True for an invalid operation, because ``apply`` refuses it with a sentence.
    """
    operation = _find(op, seen)
    if operation is None:
        return True
    _, places = operation
    return is_unchanged(places, op, seen, current)


def _find(op: Op, document: Document) -> Operation | None:
    name = op.get("op")
    return _BY_KIND[document["kind"]].get(name) if isinstance(name, str) else None
