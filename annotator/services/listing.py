"""Lists of dialogues: filters, text search and keyset pages. Reads dialogue rows only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from annotator.models import Dialogue, Finding, Project, StaleWork, User
from annotator.models.content import DialogueQuerySet, DialogueStatus
from annotator.schema.documents import Information, Policy

PAGE_SIZE = 50
TOPOLOGIES = ("single", "sequential", "parallel", "mixed")
PROBLEMS = {"errors": "With errors", "warnings": "With warnings", "clean": "Without findings"}


@dataclass(frozen=True)
class Filters:
    """What a list shows. Unknown values are dropped, so that an old link still opens."""

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
    #: "1": only work that a new guideline has overtaken.
    stale: str = ""

    @classmethod
    def of(cls, query: Mapping[str, Any]) -> "Filters":
        """Filters from a query string's values."""

        def one(name: str, allowed: Any = None, limit: int = 60) -> str:
            value = str(query.get(name, "")).replace("\x00", "").strip()[:limit]
            return value if allowed is None or value in allowed else ""

        return cls(
            text=one("q", limit=200),
            status=one("status", DialogueStatus.values),
            stage=one("stage"),
            policy=one("policy", [p.value for p in Policy]),
            topology=one("topology", TOPOLOGIES),
            information=one("information", [i.value for i in Information]),
            language=one("language", ("en", "zh")),
            owner=one("owner", limit=12),
            problems=one("problems", PROBLEMS),
            check=one("check"),
            stale=one("stale", ("1",)),
        )

    @property
    def active(self) -> dict[str, str]:
        """The filters that are set, by their name in the query string."""
        names = {**{name: name for name in self.__dataclass_fields__}, "text": "q"}
        return {names[name]: value for name, value in vars(self).items() if value}


@dataclass(frozen=True)
class Page:
    """One page of a list, newest last, and the keys of its neighbours (None where there is none)."""

    rows: list[Dialogue] = field(default_factory=list)
    after: int | None = None
    before: int | None = None


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
    if filters.stale:
        rows = rows.filter(pk__in=StaleWork.objects.filter(cleared_at=None).values("dialogue_id"))
    if filters.text:
        # Who types a whole id, from a report or a release, means that dialogue; ids stand in no text.
        named = rows.filter(external_id=filters.text)
        rows = named if named.exists() else rows.matching(filters.text)
    return rows


def list_dialogues(
    *,
    actor: User,
    project: Project,
    filters: Filters,
    after: int | None = None,
    before: int | None = None,
    size: int = PAGE_SIZE,
) -> Page:
    """A page of the project's dialogues in the order they came in. Costs the same at any depth."""
    # The project was loaded through what the actor may see; the join over memberships is not paid again per row.
    rows = Dialogue.objects.filter(project=project, published=True, archived_at=None).shown_to(actor)
    rows = filter_dialogues(rows, filters).select_related("owner").defer("search_text")
    if before is not None:
        found = list(rows.filter(pk__lt=before).order_by("-pk")[: size + 1])
        more = len(found) > size
        found = found[:size][::-1]
        if found:
            return Page(found, after=found[-1].pk, before=found[0].pk if more else None)
        # Nothing is left before the key: that is the first page, from its beginning.
        after = None
    if after is not None:
        rows = rows.filter(pk__gt=after)
    found = list(rows.order_by("pk")[: size + 1])
    more = len(found) > size
    found = found[:size]
    earlier = None if after is None else found[0].pk if found else after + 1
    return Page(found, after=found[-1].pk if more else None, before=earlier)
