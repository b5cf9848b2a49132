"""Saved views of the list of dialogues: filters, order and columns under a name.

People have their own; administrators also save views that every member of the project sees.
"""

from collections.abc import Callable, Collection, Iterable

from django.db import IntegrityError, transaction
from django.http import QueryDict
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Project, Role, SavedView, User
from annotator.models.saved_views import MAX_COLUMNS, MAX_NAME, MAX_QUERY
from annotator.services.access.permissions import require_administrator, require_role
from annotator.services.database.filters import UnknownFilter, refuse_unknown_names
from annotator.services.dialogues.listing import NAMES, Filters, require_known_check
from annotator.services.dialogues.sorting import sort_of
from annotator.services.history.events import append_event

#: Views of one person in a project, and shared ones of a project.
MAX_VIEWS = 50
#: The parameters of the list that a view keeps.
SAVED = (*NAMES, "sort", "column")


def list_views(*, actor: User, project: Project) -> list[SavedView]:
    """Return the views that the actor, a member, can open: the shared ones, then their own, each by name."""
    return list(SavedView.objects.usable_by(actor).filter(project=project).order_by("-shared", "name", "pk"))


def load_view(*, actor: User, project: Project, public_id: str) -> SavedView:
    """Return a view that the actor can open. Raises Hidden."""
    found = SavedView.objects.usable_by(actor).filter(project=project, public_id=public_id).first()
    if found is None:
        raise Hidden(_("This view doesn’t exist. Somebody may have deleted it."))
    found.project = project
    return found


def save_view(*, actor: User, project: Project, name: str, query: str, shared: bool = False) -> SavedView:
    """Save a view. ``query``: the query string of the list, see ``clean_query``; ``shared``: for every member.

    Raises Denied unless the actor may share, Invalid for a name or query that cannot be saved, and Conflict if the name
    is taken or there are too many views.
    """
    _require_rights(actor, project, shared)
    if len(query) > MAX_QUERY:
        raise Invalid(_("These filters are too long to be saved. Choose fewer."), field="name")
    columns = len(set(QueryDict(query).getlist("column")))
    if columns > MAX_COLUMNS:
        sentence = _(
            "A view can have at most %(most)d columns with metadata, and this one has %(count)d. Choose fewer."
        )
        raise Invalid(sentence % {"most": MAX_COLUMNS, "count": columns}, field="name")
    view = SavedView(project=project, person=actor, shared=shared, name=_checked(name), query=query)
    with transaction.atomic():
        # The lock makes counting and writing one step.
        Project.objects.select_for_update(no_key=True).only("pk").get(pk=project.pk)
        there = SavedView.objects.filter(project=project, shared=shared)
        if (there if shared else there.filter(person=actor)).count() >= MAX_VIEWS:
            raise Conflict(_("There can be %(count)d views. Delete one first.") % {"count": MAX_VIEWS})
        _write(view)
        if shared:
            append_event(
                actor=actor, project=project, kind="project.view_shared", after={"name": view.name, "filters": query}
            )
    return view


def rename_view(*, actor: User, view: SavedView, name: str) -> SavedView:
    """Rename a view. Raises Denied for a shared view unless the actor administers the project, Invalid, Conflict."""
    new = _checked(name)
    with transaction.atomic():
        view = _lock(actor, view)
        before = view.name
        if new == before:
            return view
        view.name = new
        _write(view)
        if view.shared:
            append_event(
                actor=actor,
                project=view.project,
                kind="project.view_renamed",
                before={"name": before},
                after={"name": new},
            )
    return view


def delete_view(*, actor: User, view: SavedView) -> None:
    """Delete a view. Raises Denied for a shared view unless the actor administers the project."""
    with transaction.atomic():
        view = _lock(actor, view)
        if view.shared:
            append_event(
                actor=actor,
                project=view.project,
                kind="project.view_deleted",
                before={"name": view.name, "filters": view.query},
                after={"name": view.name},
            )
        view.delete()


def clean_query(query: QueryDict, names: Collection[str]) -> str:
    """Return a query string with only these parameters, without blank values."""
    kept = QueryDict(mutable=True)
    for name in names:
        kept.setlist(name, [value for value in query.getlist(name) if value.strip()])
    return kept.urlencode()


def reader_of(*, actor: User, project: Project, stages: Callable[[], Iterable[str]]) -> Callable[[QueryDict], None]:
    """Return a function that raises UnknownFilter for values the actor’s list does not know, as ``usable_query`` needs.

    ``stages``: the keys of the project's stages.
    """

    def read(query: QueryDict) -> None:
        require_known_check(actor=actor, project=project, check=Filters.of(query, project=project, stages=stages).check)
        sort_of(query)

    return read


def usable_query(stored: str, names: Collection[str], read: Callable[[QueryDict], object]) -> tuple[str, list[str]]:
    """Return the part of a stored query string that still has a meaning, and a sentence about each other part.

    ``names``: the known parameters. ``read`` raises UnknownFilter for values that do not exist.
    """
    query, sentences = QueryDict(stored, mutable=True), []
    while True:
        try:
            refuse_unknown_names(query, names)
            read(query)
        except UnknownFilter as error:
            left = {name: query.getlist(name) for name in query if name not in error.names}
            if len(left) == len(query):
                raise
            sentences.append(error.sentence)
            query = QueryDict(mutable=True)
            for name, values in left.items():
                query.setlist(name, values)
        else:
            return query.urlencode(), sentences


def _lock(actor: User, view: SavedView) -> SavedView:
    """Lock a view that the actor may change."""
    found = SavedView.objects.select_for_update().filter(pk=view.pk).first()
    if found is None:
        raise Hidden(_("This view doesn’t exist. Somebody may have deleted it."))
    found.project = view.project
    _require_rights(actor, found.project, found.shared)
    return found


def _require_rights(actor: User, project: Project, shared: bool) -> None:
    if shared:
        require_administrator(actor=actor, project=project)
    else:
        require_role(actor=actor, project=project, roles=frozenset(Role))


def _checked(name: str) -> str:
    text = " ".join(name.replace("\x00", "").split())
    if not text:
        raise Invalid(_("The view needs a name."), field="name")
    if len(text) > MAX_NAME:
        raise Invalid(_("The name is too long. The limit is %(count)d characters.") % {"count": MAX_NAME}, field="name")
    return text


def _write(view: SavedView) -> None:
    """Write a view in a savepoint. Raises Conflict if its name is taken."""
    try:
        with transaction.atomic():
            view.save()
    except IntegrityError:
        sentence = _("There is already a view with the name “%(name)s”. Choose another name.")
        raise Conflict(sentence % {"name": view.name}) from None
