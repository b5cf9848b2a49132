"""Where the toolsets of a project are reviewed: in a project of their own, which several projects may share."""

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Hidden
from annotator.models import Membership, Project, Role, User
from annotator.services.access.permissions import require_administrator
from annotator.services.history.events import append_event
from annotator.services.members import grant_role
from annotator.services.projects import create_project
from reviews.core.protocols.presets import TOOLSET
from reviews.models import ToolsetItem
from reviews.services.protocols.versions import adopt_preset, current_protocol

#: Characters of a project's name before the words that are added to it.
_NAME = 90


def review_project(project: Project) -> Project | None:
    """Return where toolsets of this project are reviewed: the project that it names, or itself if its own protocol is
    one for toolsets. None if they aren't reviewed.
    """
    if project.toolset_review_id is not None:
        return project.toolset_review
    return project if reviews_toolsets(project) else None


def reviews_toolsets(project: Project) -> bool:
    """Return whether the project's protocol is one for toolsets."""
    protocol = current_protocol(project)
    return protocol is not None and protocol.preset == TOOLSET


def possible_reviews(*, actor: User, project: Project) -> list[Project]:
    """Return the projects that the actor may choose: the present one, and those that they administer and whose
    protocol is one for toolsets.
    """
    rows = Project.objects.administered_by(actor).filter(archived_at=None).exclude(pk=project.pk)
    preset = rows.filter(protocol_versions__preset=TOOLSET).distinct().order_by("name", "pk")
    possible = [one for one in preset if reviews_toolsets(one)]
    present = project.toolset_review
    return possible if present is None or present in possible else [present, *possible]


def start_toolset_review(*, actor: User, project: Project) -> Project:
    """Create a project for the review of toolsets, with the same members, and choose it. Return it.

    If the project has a toolset review already, it is returned. Raises Denied; Conflict for a project that reviews
    toolsets itself.
    """
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        locked = _lock(project)
        if locked.toolset_review is not None:
            return locked.toolset_review
        name = _("%(project)s: toolsets") % {"project": project.name[:_NAME]}
        review = create_project(actor=actor, name=name)
        adopt_preset(actor=actor, project=review, preset=TOOLSET)
        for one in Membership.objects.active().filter(project=project).select_related("user").order_by("pk"):
            grant_role(actor=actor, project=review, user=one.user, role=Role(one.role))
        _choose(actor, locked, review)
    project.toolset_review = review
    return review


def choose_toolset_review(*, actor: User, project: Project, slug: str) -> None:
    """Let the toolsets be reviewed in another project from now on; a blank ``slug`` ends it: dialogues no longer wait.

    Raises Denied, and Hidden for a project that can't be chosen.
    """
    require_administrator(actor=actor, project=project)
    review = None
    if slug:
        review = next((one for one in possible_reviews(actor=actor, project=project) if one.slug == slug), None)
        if review is None:
            raise Hidden(_("Choose a project that you administer and whose protocol is one for toolsets."))
    with transaction.atomic():
        locked = _lock(project)
        if locked.toolset_review_id != (review.pk if review else None):
            _choose(actor, locked, review)
    project.toolset_review = review


def _lock(project: Project) -> Project:
    locked = Project.objects.select_for_update(of=("self",), no_key=True).select_related("toolset_review")
    found = locked.get(pk=project.pk)
    if reviews_toolsets(found):
        raise Conflict(_("This project reviews toolsets itself. Import them here, and send them to review."))
    return found


def _choose(actor: User | None, project: Project, review: Project | None) -> None:
    before = project.toolset_review
    project.toolset_review = review
    project.save(update_fields=["toolset_review"])
    append_event(
        actor=actor,
        project=project,
        kind="toolset_review.chosen",
        before={"project": before.slug if before else ""},
        after={"project": review.slug if review else ""},
    )


def forget_toolset_review(review: int) -> None:
    """Let projects go on without a toolset review whose project (its key) is deleted, and record it."""
    for project in Project.objects.filter(toolset_review=review).select_related("toolset_review").order_by("pk"):
        _choose(None, project, None)
    ToolsetItem.objects.filter(Q(dialogue__project=review) | Q(toolset__project=review)).delete()
