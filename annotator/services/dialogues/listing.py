"""Lists of dialogues: filters, text search and pages. Reads dialogue rows only."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from django.db.models import Exists, F, OuterRef
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotator.core.checks import all_checks
from annotator.core.coverage import CELLS, within
from annotator.core.schema.documents import Information, Policy
from annotator.core.tags import tag_of
from annotator.errors import Invalid
from annotator.models import Continuation, Dialogue, DialogueTag, Finding, OutdatedDialogue, Project, Role, User
from annotator.models.content import DialogueQuerySet, DialogueStatus
from annotator.services.access.blindness import REVIEWED_BLIND, blind_to, veil
from annotator.services.access.permissions import roles_in
from annotator.services.custom_fields import fields_of
from annotator.services.database.filters import UnknownFilter, one_of
from annotator.services.database.keyset import KeyPage, Order, read_page
from annotator.services.dialogues.metadata import metadata_filter
from annotator.services.dialogues.tags import attach_tags

PAGE_SIZE = 50
#: A list with more dialogues is not counted further.
MAX_COUNTED = 100_000
TOPOLOGIES = ("single", "sequential", "parallel", "mixed")
LANGUAGES = {"en": _("English"), "zh": _("Chinese")}
#: Shown to overseers only: it reveals colleagues’ edits.
STALE = {"1": _("Earlier tasks have changed")}
OUTDATED = {"1": _("Outdated by a newer guideline")}
PROBLEMS = {
    "errors": _("With errors"),
    "warnings": _("With warnings"),
    "clean": _("Without findings"),
}


@dataclass(frozen=True)
class Filters:
    """The filters of a list."""

    text: str = ""
    status: str = ""
    stage: str = ""
    policy: str = ""
    topology: str = ""
    information: str = ""
    language: str = ""
    owner: str = ""
    problems: str = ""
    check: str = ""
    #: "1": only outdated work.
    outdated: str = ""
    #: "key=value" of a custom field.
    field: str = ""
    #: "key=value" of the metadata.
    meta: str = ""
    #: Only dialogues with this tag, among those whose tags the person sees.
    tag: str = ""
    #: "1": only stale continuations of verified dialogues, for overseers.
    stale: str = ""
    #: Policies of the first tasks, such as “single_tool,chat”.
    sequence: str = ""

    @classmethod
    def of(cls, query: Mapping[str, Any], *, project: Project, stages: Callable[[], Iterable[str]]) -> "Filters":
        """Read filters from a query string. ``stages``: the keys of the project's stages. Raises UnknownFilter."""

        def people() -> Iterable[str]:
            members = User.objects.filter(memberships__project=project).distinct().order_by("public_id")
            return members.values_list("public_id", flat=True)

        return cls(
            text=searched(query),
            status=one_of(query, "status", DialogueStatus.values),
            stage=one_of(query, "stage", stages),
            policy=one_of(query, "policy", [policy.value for policy in Policy]),
            topology=one_of(query, "topology", TOPOLOGIES),
            information=one_of(query, "information", [one.value for one in Information]),
            language=one_of(query, "language", LANGUAGES),
            owner=one_of(query, "owner", people),
            problems=one_of(query, "problems", PROBLEMS),
            check=one_of(query, "check", lambda: [check.id for check in all_checks()]),
            outdated=one_of(query, "outdated", OUTDATED),
            field=one_of(query, "field", lambda: [value for value, _ in field_values(project)]),
            meta=metadata_filter(query),
            tag=_tag_in(query),
            stale=one_of(query, "stale", STALE),
            sequence=one_of(query, "sequence", CELLS),
        )

    @property
    def active(self) -> dict[str, str]:
        """The filters in use, by their name in the query string."""
        return {name: value for name, value in zip(NAMES, vars(self).values(), strict=True) if value}


#: Names of the filters in a query string.
NAMES = tuple("q" if one.name == "text" else one.name for one in fields(Filters))


def field_values(project: Project) -> list[tuple[str, str]]:
    """Return (key=value, words) of every answer to a custom field by which dialogues can be filtered."""
    return [
        (f"{field.key}={value}", f"{field.lead} {title}")
        for field in fields_of(project)
        for value, title in field.choices
    ]


def searched(query: Mapping[str, Any]) -> str:
    """Return the search text of a query string."""
    return str(query.get("q", "")).replace("\x00", "").strip()[:200]


def _tag_in(query: Mapping[str, Any]) -> str:
    """Return the tag of a query string, whether any dialogue has it or not. Raises UnknownFilter if it isn't a tag."""
    raw = str(query.get("tag", ""))
    tag = tag_of(raw)
    if raw.strip() and not tag:
        sentence = gettext("“tag” can’t be “%(value)s”. A tag has letters, digits, hyphens and underscores.")
        raise UnknownFilter(sentence % {"value": raw[:40]}, ["tag"])
    return tag


def filter_dialogues(rows: DialogueQuerySet, filters: Filters, *, project: Project) -> DialogueQuerySet:
    """Narrow dialogues of a project down."""
    if filters.status:
        rows = rows.filter(status=filters.status)
    if filters.stage:
        rows = rows.filter(stage=filters.stage)
    if filters.policy:
        rows = rows.filter(policies__contains=f",{filters.policy},")
    if filters.topology:
        rows = rows.filter(topologies__contains=f",{filters.topology},")
    if filters.information:
        rows = rows.filter(information__contains=f",{filters.information},")
    if filters.language:
        rows = rows.filter(language=filters.language)
    if filters.owner:
        rows = rows.filter(owner__public_id=filters.owner)
    if filters.problems == "errors":
        rows = rows.filter(error_count__gt=0)
    elif filters.problems == "warnings":
        rows = rows.filter(warning_count__gt=0)
    elif filters.problems == "clean":
        rows = rows.filter(error_count=0, warning_count=0)
    if filters.check:
        rows = rows.filter(pk__in=Finding.objects.filter(check_id=filters.check).values("dialogue_id"))
    if filters.outdated:
        rows = rows.filter(pk__in=OutdatedDialogue.objects.filter(cleared_at=None).values("dialogue_id"))
    if filters.stale:
        rows = rows.filter(pk__in=Continuation.objects.filter(stale=True).values("dialogue_id"))
    if filters.field:
        rows = rows.filter(labels__contains=f"\n{filters.field}\n")
    if filters.meta:
        key, _equals, value = filters.meta.partition("=")
        # The project is that of the dialogue, so that the index of metadata is used.
        rows = rows.filter(metadata__project=F("project"), metadata__key=key, metadata__value=value)
    if filters.tag:
        # The project too, so that the index of names serves it.
        tagged = DialogueTag.objects.filter(project=OuterRef("project"), name=filters.tag, dialogue=OuterRef("pk"))
        rows = rows.filter(Exists(tagged))
    if filters.sequence:
        rows = rows.filter(sequence__in=within(filters.sequence))
    if filters.text:
        # A complete id means that dialogue alone.
        named = rows.filter(external_id=filters.text)
        rows = named if named.exists() else rows.searched(filters.text, project=project)
    return rows


def require_known_check(*, actor: User, project: Project, check: str) -> None:
    """Raise UnknownFilter, as for any unknown check, if only administrators see its notes and the actor is none."""
    known = [one.id for one in all_checks() if one.audience == "everyone"]
    if check and check not in known and Role.ADMINISTRATOR not in roles_in(project, actor):
        one_of({"check": check}, "check", known)


def shown_dialogues(*, actor: User, project: Project, filters: Filters) -> DialogueQuerySet:
    """Return the dialogues of a project that the actor, a member, sees in lists. Raises UnknownFilter as below."""
    require_known_check(actor=actor, project=project, check=filters.check)
    # Loading the project has checked membership, so no join is needed.
    rows = Dialogue.objects.filter(project=project, published=True, archived_at=None).shown_to(actor)
    if filters.tag or filters.stale or (filters.owner and filters.owner != actor.public_id):
        # Filtering by each colleague would reveal the owner of a dialogue that the actor reviews blind; so with tags
        # and marks.
        rows = rows.filter(project__in=Project.objects.overseen_by(actor))
        for reviewed in REVIEWED_BLIND:
            rows = rows.exclude(pk__in=reviewed(actor, project))
    return filter_dialogues(rows, filters, project=project).select_related("owner").defer("search_text")


def veil_owners(rows: list[Dialogue], *, actor: User) -> list[Dialogue]:
    """Hide those owners in a list who must stay unknown to the actor, and add the tags that the actor may see."""
    blind = blind_to(actor=actor, dialogues=[row.pk for row in rows])
    attach_tags(rows, actor=actor, blind=blind)
    return veil(rows, actor=actor, blind=blind, people=["owner"], of="pk")


def list_dialogues(
    *,
    actor: User,
    project: Project,
    filters: Filters,
    order: Order | None = None,
    after: str | None = None,
    before: str | None = None,
    size: int = PAGE_SIZE,
) -> KeyPage[Dialogue]:
    """Return a page of the project's dialogues, by default in order of import. Costs the same at any depth."""
    rows = shown_dialogues(actor=actor, project=project, filters=filters)
    order = order or Order()
    page = read_page(rows, after=after, before=before, size=size, by=order.by, newest_first=order.newest_first)
    return replace(page, rows=veil_owners(page.rows, actor=actor))


@dataclass(frozen=True)
class Total:
    """How many dialogues a list has; at least this many if it is not ``exact``."""

    count: int
    exact: bool


def count_dialogues(*, actor: User, project: Project, filters: Filters) -> Total:
    """Count the dialogues of a list, up to MAX_COUNTED."""
    rows = shown_dialogues(actor=actor, project=project, filters=filters).select_related(None).order_by()
    found = rows.values("pk")[: MAX_COUNTED + 1].count()
    return Total(min(found, MAX_COUNTED), exact=found <= MAX_COUNTED)


def matching_dialogues(*, actor: User, project: Project, filters: Filters, limit: int) -> list[int]:
    """Return the keys of all dialogues that the list would show, at most ``limit`` of them and one more.

    Raises Invalid if there are none.
    """
    rows = shown_dialogues(actor=actor, project=project, filters=filters)
    keys = list(rows.order_by("pk").values_list("pk", flat=True)[: limit + 1])
    if not keys:
        raise Invalid(gettext("No item matches the filters any more. Choose other filters in the list."))
    return keys
