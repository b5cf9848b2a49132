"""Lists of dialogues: filters, text search and pages. Reads dialogue rows only."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from annotator.core.checks import all_checks
from annotator.core.schema.documents import Information, Policy
from annotator.models import Dialogue, Finding, OutdatedDialogue, Project, User
from annotator.models.content import DialogueQuerySet, DialogueStatus
from annotator.services.access.blindness import REVIEWED_BLIND, blind_to, veil
from annotator.services.database.filters import one_of
from annotator.services.database.keyset import KeyPage, read_page

PAGE_SIZE = 50
TOPOLOGIES = ("single", "sequential", "parallel", "mixed")
LANGUAGES = {"en": "English", "zh": "Chinese"}
OUTDATED = {"1": "Outdated by a newer one"}
#: Names of the filters in a query string.
NAMES = (
    "q",
    "status",
    "stage",
    "policy",
    "topology",
    "information",
    "language",
    "owner",
    "problems",
    "check",
    "outdated",
)
PROBLEMS = {"errors": "With errors", "warnings": "With warnings", "clean": "Without findings"}


@dataclass(frozen=True)
class Filters:
    """What a list shows."""

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
    #: "1": only work that a new guideline has outdated.
    outdated: str = ""

    @classmethod
    def of(cls, query: Mapping[str, Any], *, project: Project, stages: Callable[[], Iterable[str]]) -> "Filters":
        """Filters from a query string's values; ``stages``: the keys of the project's. Raises UnknownFilter."""

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
        )

    @property
    def active(self) -> dict[str, str]:
        """The filters that are set, by their name in the query string."""
        names = {**{name: name for name in self.__dataclass_fields__}, "text": "q"}
        return {names[name]: value for name, value in vars(self).items() if value}


def searched(query: Mapping[str, Any]) -> str:
    """What a query string searches for."""
    return str(query.get("q", "")).replace("\x00", "").strip()[:200]


def filter_dialogues(rows: DialogueQuerySet, filters: Filters) -> DialogueQuerySet:
    """Narrow a queryset down."""
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
    if filters.text:
        # Who types a whole id, from a report or a release, means that dialogue; ids stand in no text.
        named = rows.filter(external_id=filters.text)
        rows = named if named.exists() else rows.matching(filters.text)
    return rows


def shown_dialogues(*, actor: User, project: Project, filters: Filters) -> DialogueQuerySet:
    """The dialogues of a project that its lists show the actor, who is a member."""
    # The project was loaded through what the actor may see; the join over memberships is not paid again per row.
    rows = Dialogue.objects.filter(project=project, published=True, archived_at=None).shown_to(actor)
    if filters.owner and filters.owner != actor.public_id:
        # Whose dialogue it is that one reviews blind would show by asking for each colleague's.
        rows = rows.filter(project__in=Project.objects.overseen_by(actor))
        for reviewed in REVIEWED_BLIND:
            rows = rows.exclude(pk__in=reviewed(actor, project))
    return filter_dialogues(rows, filters).select_related("owner").defer("search_text")


def veil_owners(rows: list[Dialogue], *, actor: User) -> list[Dialogue]:
    """The rows of a list, with owners hidden whom the actor must not know."""
    blind = blind_to(actor=actor, dialogues=[row.pk for row in rows])
    return veil(rows, actor=actor, blind=blind, people=["owner"], of="pk")


def list_dialogues(
    *,
    actor: User,
    project: Project,
    filters: Filters,
    after: str | None = None,
    before: str | None = None,
    size: int = PAGE_SIZE,
) -> KeyPage[Dialogue]:
    """A page of the project's dialogues in the order they came in. Costs the same at any depth."""
    rows = shown_dialogues(actor=actor, project=project, filters=filters)
    page = read_page(rows, after=after, before=before, size=size)
    return replace(page, rows=veil_owners(page.rows, actor=actor))
