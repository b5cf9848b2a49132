"""provenance.*: where the argument values of calls come from, and which dependencies follow from that."""

from collections.abc import Iterator
from itertools import accumulate

from annotator.core.checks.context import Context
from annotator.core.checks.placeholders import is_placeholder
from annotator.core.checks.registry import Found, check
from annotator.core.provenance.edges import missing, unsupported
from annotator.core.provenance.scope import MAX_LEAVES, MAX_LEAVES_OF_ALL, anchor_below
from annotator.core.provenance.value_search import Origin
from annotator.core.schema.value_words import listed, path_name, quoted


@check("provenance.no_source", "A value has no source", "warning", only_with="tasks")
def no_source(context: Context) -> Iterator[Found]:
    """A value does not appear anywhere before its call: not in the user's words, env_info, earlier answers,
    observations or the tool's schema. Correct it, or mark it as inferable and give the reason.
    """
    finder = context.provenance
    refused = {one.anchor for one in context.violations}
    for index in range(len(context.tasks)):
        for found in finder.values(index):
            if found.origin is not Origin.NOWHERE:
                continue
            value = found.forms.value
            anchor = anchor_below(found.call.anchor, found.path)
            if isinstance(value, str) and is_placeholder(value):
                continue
            # A value that violates the schema is wrong whatever its source.
            if any(above in refused for above in accumulate(anchor.split("/"), "{}/{}".format)):
                continue
            message = (
                f"{path_name(found.path)} {quoted(value)} does not appear earlier in the conversation. Correct it, "
                "or mark it as inferable and give the reason."
            )
            yield anchor, value, message


@check("provenance.partly_traced", "Some values were not traced to their sources", "info", only_with="tasks")
def partly_traced(context: Context) -> Iterator[Found]:
    """A call, or the dialogue, has so many values that some were not traced to their sources."""
    finder = context.provenance
    for index, task in enumerate(finder.scope.tasks):
        finder.values(index)
        for call in task.calls:
            if call.cut:
                message = (
                    f"Only the first {len(call.leaves):,} values of this call were traced to their sources. The "
                    f"limit is {MAX_LEAVES:,} in a call and {MAX_LEAVES_OF_ALL:,} in a dialogue."
                )
                yield f"{call.anchor}/arguments", call.arguments, message
    if finder.scope.work.spent:
        message = "The dialogue is too long to search completely, so the sources of some values are not known."
        yield "", context.document, message


@check(
    "provenance.missing_dependency",
    "A call uses a result but does not depend on the call that returned it",
    "warning",
    only_with="tasks",
)
def missing_dependency(context: Context) -> Iterator[Found]:
    """A value appears only in the result of another call of the task, but the call does not depend on that one."""
    finder = context.provenance
    for index, task in enumerate(context.tasks):
        lacking: dict[str, list[str]] = {}
        for one in missing(finder, index):
            lacking.setdefault(one.step, []).append(f"{one.why} Add {one.needs} to the dependencies of {one.step}.")
        for call in task.calls:
            if call.step["id"] in lacking:
                yield f"{call.anchor}/depends_on", call.step["depends_on"], " ".join(lacking[call.step["id"]])


@check("provenance.unsupported_dependency", "A dependency passes no value", "warning", only_with="tasks")
def unsupported_dependency(context: Context) -> Iterator[Found]:
    """A dependency is marked “passes a value”, but every value of the call comes from elsewhere. If only the order
    matters, choose “order only”.
    """
    finder = context.provenance
    for index in range(len(context.tasks)):
        unfounded: dict[str, list[str]] = {}
        anchors = {}
        for call, needed in unsupported(finder, index):
            unfounded.setdefault(call.step["id"], []).append(needed)
            anchors[call.step["id"]] = call
        for step, needs in unfounded.items():
            call = anchors[step]
            message = (
                f"{step} is marked as using a value from {listed(needs)}, but uses none. "
                "Choose “order only” if the order matters, or remove the dependency."
            )
            yield f"{call.anchor}/depends_on", call.step["depends_on"], message
