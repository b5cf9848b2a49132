"""composite.*: whether the single tasks of a composite are there, verified and unchanged, and fit each other."""

from collections.abc import Iterator

from annotator.core.checks.composite_context import CompositeContext
from annotator.core.checks.registry import Found, check
from annotator.core.schema.value_words import cut, listed


@check("composite.missing_task", "A composite refers to a missing single task", "error", only_with="composite")
def missing_task(context: CompositeContext) -> Iterator[Found]:
    """The project has no single task with this id, or it was archived."""
    for task in context.tasks:
        name = task.task["single"]
        if context.singles is not None and name not in context.singles:
            message = f"There is no single task {cut(name)} in this project. Choose another one."
            yield f"{task.anchor}/single", name, message


@check("composite.outdated", "A single task of a composite has changed", "error", only_with="composite")
def outdated(context: CompositeContext) -> Iterator[Found]:
    """The single task has a newer revision than the composite refers to, or newer tools."""
    for anchor, task, single in context.members:
        held = (task["sha256"], task["toolset_sha256"])
        if task["sha256"] is not None and held != (single.sha256, single.toolset_sha256):
            message = f"{cut(task['single'])} has changed. Use its current revision, or choose another task."
            yield f"{anchor}/sha256", [*held, single.sha256, single.toolset_sha256], message


@check("composite.differs", "A composite repeats a single task wrongly", "error", only_with="composite")
def differs(context: CompositeContext) -> Iterator[Found]:
    """The question, category or number of calls are not those of the revision that the composite refers to."""
    for anchor, task, single in context.members:
        held = (task["sha256"], task["toolset_sha256"])
        if held == (single.sha256, single.toolset_sha256) and not single.is_repeated_by(task):
            message = (
                f"The question, category or calls are not those of {cut(task['single'])}. Use its current revision."
            )
            yield f"{anchor}/user_message", [task["user_message"], task["category"], task["calls"]], message


@check("composite.no_revision", "A composite names no revision of a task", "error", to_do=True, only_with="composite")
def no_revision(context: CompositeContext) -> Iterator[Found]:
    """Without a revision, a change of the single task would not be noticed."""
    for task in context.tasks:
        if task.task["sha256"] is None:
            message = f"No revision of {cut(task.task['single'])} is chosen. Use its current revision."
            yield f"{task.anchor}/sha256", task.task["single"], message


@check("composite.unverified", "A single task of a composite is not verified", "error", only_with="composite")
def unverified(context: CompositeContext) -> Iterator[Found]:
    """A composite consists of verified tasks without errors. Reported from submission on."""
    if context.stage in ("import", "save"):
        return
    for anchor, task, single in context.members:
        name = cut(task["single"])
        if not single.verified:
            yield f"{anchor}/single", task["single"], f"{name} is not verified. Verify it, or choose another task."
        elif single.faulty:
            yield f"{anchor}/single", task["single"], f"{name} has errors. Correct them, or choose another task."


@check("composite.categories", "The categories of a composite do not fit its kind", "error", only_with="composite")
def categories(context: CompositeContext) -> Iterator[Found]:
    """The tasks of a similar composite are all of one category, those of a cross composite all of different ones."""
    document = context.document
    named = [task["category"] for task in document["tasks"]]
    different = set(named)
    if None in different:
        without = listed([task["single"] for task in document["tasks"] if task["category"] is None])
        yield "/composition", named, f"{without} has no category. Enter one there, and use that revision."
    elif document["composition"] == "similar" and len(different) > 1:
        yield "/composition", named, f"The tasks of a similar composite are of one category; these are {listed(named)}."
    elif document["composition"] == "cross" and len(different) < len(named):
        yield "/composition", named, f"The tasks of a cross composite are of different categories: {listed(named)}."


@check("composite.few_rounds", "A composite has too few rounds", "error", only_with="composite")
def few_rounds(context: CompositeContext) -> Iterator[Found]:
    """The reference solution needs a round for each call, and one for the end."""
    needed = sum(task["calls"] for task in context.document["tasks"]) + 1
    if context.document["max_rounds"] < needed:
        message = f"The calls need at least {needed:,} rounds, but only {context.document['max_rounds']:,} are allowed."
        yield "/max_rounds", context.document["max_rounds"], message
