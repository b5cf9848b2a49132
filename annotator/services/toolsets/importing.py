"""Import a description of tools as a toolset."""

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotator.core.schema import SchemaProblem, canonical, content_hash
from annotator.core.schema.exact_json import loads
from annotator.core.schema.toolsets import toolset_content
from annotator.core.tools.sources.model import ReadTools, SourceProblem
from annotator.core.tools.sources.reading import SourceKind, read_source
from annotator.errors import Conflict, Invalid
from annotator.models import Project, Toolset, User
from annotator.services.access.permissions import require_administrator
from annotator.services.toolsets.details import Details, checked_fields, checked_tags, set_tags
from annotator.services.toolsets.storing import add_toolset, lock_toolsets, revision_with
from annotator.translation import translated

#: Bytes of the tools of a toolset. Every check of a dialogue reads them.
MAX_CONTENT = 4 << 20


def read_description(text: str, kind: str = "") -> tuple[SourceKind, ReadTools]:
    """Return the tools that a text describes, and what kind of description it is; blank: it is recognised.

    Raises Invalid with a sentence.
    """
    try:
        found, read = read_source(text.replace("\x00", ""), SourceKind(kind) if kind else None)
        _require_tools(read_content(read.tools))
    except SourceProblem as problem:
        sentence = translated(problem.message)
        raise Invalid(f"{problem.place}: {sentence}" if problem.place else sentence, field="text") from None
    except Invalid as refusal:
        raise Invalid(refusal.sentence, field="text") from None
    return found, read


def _require_tools(content: str) -> None:
    if content == canonical({"tools": []}):
        raise Invalid(_("There are no tools in it."), field="tools")


def read_content(tools: Any, implementation: dict[str, Any] | None = None) -> str:
    """Return the canonical text of a toolset. ``tools``: a list, or it as JSON text. Raises Invalid with the field."""
    if isinstance(tools, str):
        try:
            tools = loads(tools)
        except (ValueError, RecursionError) as problem:
            raise Invalid(_("The tools are not JSON: %(problem)s") % {"problem": problem}, field="tools") from None
    if not isinstance(tools, list):
        raise Invalid(_("The tools must be a JSON list of functions."), field="tools")
    try:
        text = canonical(toolset_content(tools, implementation))
    except SchemaProblem as problem:
        first = problem.problems[0]
        field = "source" if first.pointer.startswith("/implementation") else "tools"
        raise Invalid(f"{first.pointer}: {first.message}", field=field) from None
    if len(text.encode()) > MAX_CONTENT:
        sentence = _("The tools take more than %(limit)s MB. Split them into several toolsets.")
        raise Invalid(sentence % {"limit": MAX_CONTENT >> 20}, field="tools")
    return text


def import_toolset(*, actor: User, project: Project, tools: Any, details: Details) -> Toolset:
    """Create a toolset. ``tools``: OpenAI functions, as a list or as JSON text.

    If another toolset has the name, a number is added to it. Raises Denied, Invalid with the field, and Conflict if a
    toolset of the project has, or had, exactly these tools.
    """
    require_administrator(actor=actor, project=project)
    text = read_content(tools)
    tags = checked_tags(details)
    _require_tools(text)
    with transaction.atomic():
        lock_toolsets(project)
        fields = checked_fields(project, details)
        same = revision_with(project, content_hash(text))
        if same is not None:
            raise same_tools(same.number, same.toolset)
        revision = add_toolset(actor, project, text, fields.pop("name"), fields)
        set_tags(revision.toolset, tags)
    return revision.toolset


def same_tools(number: int, toolset: Toolset) -> Conflict:
    """Return the refusal of tools that a revision of a toolset has already."""
    sentence = _("Revision %(number)s of %(toolset)s has exactly these tools already.")
    return Conflict(sentence % {"number": number, "toolset": toolset.name}, field="tools")
