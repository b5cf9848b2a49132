"""The prompt templates of a project, in numbered versions that never change."""

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from annotator.errors import Invalid
from annotator.models import Project, User
from annotator.services.access.permissions import require_administrator
from annotator.services.history.events import append_event
from benchmark.core.generation.purposes import Purpose, shipped_template
from benchmark.core.generation.templates import TemplateProblem, check_template, template_hash
from benchmark.models import PromptTemplate


def newest_templates(project: Project) -> dict[str, PromptTemplate]:
    """Return the newest template of each purpose; a project begins with the shipped ones."""
    found = _newest(project)
    if len(found) < len(Purpose):
        with transaction.atomic():
            # Another request may write them at the same time.
            Project.objects.select_for_update(no_key=True).get(pk=project.pk)
            found = _newest(project)
            for purpose in Purpose:
                if purpose not in found:
                    found[purpose.value] = _write(project, purpose, 1, shipped_template(purpose), author=None)
    return found


def _newest(project: Project) -> dict[str, PromptTemplate]:
    rows = PromptTemplate.objects.filter(project=project)
    highest = dict(rows.values_list("purpose").annotate(Max("number")))
    return {row.purpose: row for row in rows if row.number == highest[row.purpose]}


def list_versions(*, actor: User, project: Project, purpose: Purpose) -> list[PromptTemplate]:
    """Return the versions of a template, newest first. Raises Denied for anyone but administrators."""
    require_administrator(actor=actor, project=project)
    newest_templates(project)
    return list(PromptTemplate.objects.filter(project=project, purpose=purpose).order_by("-number"))


def save_template(*, actor: User, project: Project, purpose: Purpose, content: str) -> PromptTemplate:
    """Store a new version, unless the newest has the same content. Generations that have begun keep theirs.

    Raises Denied for anyone but administrators, Invalid with the line for a template that can't be used.
    """
    require_administrator(actor=actor, project=project)
    content = content.replace("\r\n", "\n")
    check_content(purpose, content)
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        newest = newest_templates(project)[purpose]
        if newest.sha256 == template_hash(content):
            return newest
        made = _write(project, purpose, newest.number + 1, content, author=actor)
        after = {"purpose": purpose.value, "number": made.number, "sha256": made.sha256}
        append_event(actor=actor, project=project, kind="prompt_template.saved", after=after)
    return made


def check_content(purpose: Purpose, content: str) -> None:
    """Raise Invalid, with the line, for a template that can't be used for a purpose."""
    if "\0" in content:
        raise Invalid(_("The template has a NUL character. Remove it."), field="content")
    try:
        check_template(purpose, content)
    except TemplateProblem as problem:
        raise Invalid(problem.message, field="content", line=problem.line) from None


def _write(project: Project, purpose: Purpose, number: int, content: str, *, author: User | None) -> PromptTemplate:
    return PromptTemplate.objects.create(
        project=project, purpose=purpose, number=number, content=content, sha256=template_hash(content), author=author
    )
