"""provenance.*: where the argument values of calls come from, and the dependencies that follow from it."""

from collections.abc import Iterator
from itertools import accumulate

from annotator.core.checks.context import Context
from annotator.core.checks.placeholders import is_placeholder
from annotator.core.checks.registry import Check, register
from annotator.core.findings import Finding
from annotator.core.provenance.edges import missing, unsupported
from annotator.core.provenance.scope import MAX_LEAVES, MAX_LEAVES_OF_ALL, anchor_below
from annotator.core.provenance.value_search import Origin
from annotator.core.schema.value_words import listed, path_name, shown


@register
class NoSource(Check):
    """A value stands in nothing that comes before its call: neither the user's words, env_info, earlier answers and
    observations nor the tool's schema. Correct it, or mark it as inferable and say why.
    """

    id = "provenance.no_source"
    title = "Nothing says where a value comes from."
    severity = "warning"
    only_with = "tasks"

    def run(self, context: Context) -> Iterator[Finding]:
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
                # A value that the schema refuses is wrong wherever it comes from.
                if any(above in refused for above in accumulate(anchor.split("/"), "{}/{}".format)):
                    continue
                message = (
                    f"“{path_name(found.path)}” is {shown(value)}, which stands in nothing before this call: correct "
                    "it, or mark it as inferable and say why."
                )
                yield self.found(context, anchor, value, message)


@register
class PartlyTraced(Check):
    """A call, or the dialogue, holds so much that not every value was looked for: of those left nothing is said."""

    id = "provenance.partly_traced"
    title = "Where some values come from was not looked for."
    severity = "info"
    only_with = "tasks"

    def run(self, context: Context) -> Iterator[Finding]:
        finder = context.provenance
        for index, task in enumerate(finder.scope.tasks):
            finder.values(index)
            for call in task.calls:
                if call.cut:
                    message = (
                        f"Only the first {len(call.leaves):,} values of this call were looked for in what comes before "
                        f"it: {MAX_LEAVES:,} of a call are, and {MAX_LEAVES_OF_ALL:,} of a dialogue."
                    )
                    yield self.found(context, f"{call.anchor}/arguments", call.arguments, message)
        if finder.scope.work.spent:
            message = "The dialogue holds more than can be looked through, so where some values come from is not known."
            yield self.found(context, "", context.document, message)


@register
class MissingDependency(Check):
    """A value stands only in what another call of the task gave back, and the call does not wait for that one."""

    id = "provenance.missing_dependency"
    title = "A call uses what another one gave back without depending on it."
    severity = "warning"
    only_with = "tasks"

    def run(self, context: Context) -> Iterator[Finding]:
        finder = context.provenance
        for index, task in enumerate(context.tasks):
            lacking: dict[str, list[str]] = {}
            for one in missing(finder, index):
                lacking.setdefault(one.step, []).append(f"{one.why[:-1]}; add {one.needs} to what {one.step} needs.")
            for call in task.calls:
                if call.step["id"] in lacking:
                    message = " ".join(lacking[call.step["id"]])
                    yield self.found(context, f"{call.anchor}/depends_on", call.step["depends_on"], message)


@register
class UnsupportedDependency(Check):
    """A dependency is said to carry a value, but every value of the call comes from elsewhere. Where only the order
    counts, make it logical.
    """

    id = "provenance.unsupported_dependency"
    title = "No value flows along a dependency."
    severity = "warning"
    only_with = "tasks"

    def run(self, context: Context) -> Iterator[Finding]:
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
                    f"{step} depends on {listed(needs)} for a value, but uses nothing that came back there: make the "
                    "dependency logical if the order counts, or drop it."
                )
                yield self.found(context, f"{call.anchor}/depends_on", call.step["depends_on"], message)
