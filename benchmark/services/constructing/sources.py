"""The dialogues of a project from which constrained cases can be made."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from annotator.core.case_construction import CannotConstruct
from annotator.core.schema.exact_json import loads
from annotator.errors import Invalid
from annotator.models import Dialogue, DialogueMetadata, Project
from annotator.models.content import DialogueQuerySet, DialogueStatus
from benchmark.core.constructing import SOURCE_KEY, Made, Options, make
from benchmark.models import GenerationStatus, QueryOutcome, SampledQuery

#: Sources from which one request makes cases.
MAX_SOURCES = 1_000
#: Why a source that was listed gives no case.
NOT_LISTED = "It is no longer in the list of sources."
#: Names of unknown sources that a refusal lists.
_NAMED = 5


@dataclass(frozen=True)
class Request:
    """From what to make cases, and how. ``names``: ids of sources; empty: all. ``sampling``: the public id of the
    sampling whose solved queries are the sources, instead of cases of the project.
    """

    options: Options
    names: tuple[str, ...] = ()
    only_verified: bool = True
    sampling: str = ""


def list_sources(project: Project, *, only_verified: bool = True, kind: str = "constrained") -> DialogueQuerySet:
    """Return the cases (``kind``) of a project that were not made from others, without rejected ones and known
    answers. Whether one has everything that a source needs is known when it is read.
    """
    made = DialogueMetadata.objects.filter(dialogue=OuterRef("pk"), key=SOURCE_KEY)
    rows = Dialogue.objects.filter(
        ~Exists(made), project=project, kind=kind, published=True, archived_at=None, gold_role=""
    )
    rows = rows.counted().exclude(status=DialogueStatus.REJECTED)
    return (rows.filter(status=DialogueStatus.VERIFIED) if only_verified else rows).order_by("external_id")


def chosen_sources(project: Project, request: Request) -> DialogueQuerySet:
    """Return the sources of a request. Raises Invalid for none, unknown ones, or too many."""
    rows = list_sources(project, only_verified=request.only_verified)
    if request.names:
        rows = rows.filter(external_id__in=request.names[: MAX_SOURCES + 1])
        known = set(rows.values_list("external_id", flat=True))
        unknown = [name for name in request.names if name not in known]
        if unknown:
            raise Invalid(
                _("Cases can’t be made from %(names)s: there is no such case, or it isn’t in the list of sources.")
                % {"names": ", ".join(f"“{name[:80]}”" for name in unknown[:_NAMED])},
                field="sources",
            )
    count = rows.count()
    if not count:
        raise Invalid(_("The project has no case from which others can be made. Cases need a reference trajectory."))
    if count > MAX_SOURCES:
        raise Invalid(
            _("Cases can be made from at most %(most)s others at once. Name the sources.")
            % {"most": f"{MAX_SOURCES:,}"}
        )
    return rows


def source_names(project: Project, request: Request) -> list[str]:
    """Return the ids of the sources of a request, in order. Raises Invalid as ``chosen_sources``."""
    if not request.sampling:
        return list(chosen_sources(project, request).values_list("external_id", flat=True))
    return list(_solved(project, request).order_by("name").values_list("name", flat=True))


def _solved(project: Project, request: Request) -> QuerySet[SampledQuery]:
    return SampledQuery.objects.filter(
        sampling__project=project, sampling__public_id=request.sampling, outcome=QueryOutcome.SOLVED
    )


def make_some(project: Project, request: Request, names: Sequence[str]) -> Iterator[tuple[str, Made | str]]:
    """Yield each source with its case, or with the reason why there is none."""
    rows = _read(project, request, names)
    yield from ((name, NOT_LISTED) for name in names if name not in rows)
    for name, source in rows.items():
        try:
            yield name, make_from(source, request.options)
        except CannotConstruct as problem:
            yield name, str(problem)


def _read(project: Project, request: Request, names: Sequence[str]) -> dict[str, Dialogue | SampledQuery]:
    if request.sampling:
        queries = _solved(project, request).filter(name__in=names).order_by("name")
        return {one.name: one for one in queries.select_related("toolset_revision")}
    # Some may have become known answers, or been rejected or archived, since the job has listed them.
    rows = list_sources(project, only_verified=request.only_verified).filter(external_id__in=names)
    return {one.external_id: one for one in rows.select_related("head__toolset_revision").defer("search_text")}


def existing_cases(project: Project, names: Iterable[str]) -> set[str]:
    """Return which of these ids the project has, also those of an import that has not ended."""
    rows = Dialogue.objects.filter(Q(published=True) | Q(batch__isnull=False), project=project)
    return set(rows.filter(external_id__in=list(names)).values_list("external_id", flat=True))


def make_from(source: Dialogue | SampledQuery, options: Options) -> Made:
    """Make the case of a source: a dialogue with its head and toolset, or a solved query. Raises CannotConstruct."""
    if isinstance(source, SampledQuery):
        done = source.generations.filter(status=GenerationStatus.DONE).order_by("pk")
        attempt = done.values_list("name", flat=True).first()
        how = {"attempt": attempt} if attempt else {}
        return make(source.name, source.document, source.toolset_revision.tools(), options, how)
    assert source.head is not None  # noqa: S101 - published dialogues have one
    tools = loads(source.head.toolset_revision.content)["tools"]
    return make(source.external_id, source.head.document(), tools, options)


def where_constructed(dialogue: Dialogue) -> str:
    """Return that reviewers of other cases know a dialogue's answer, as a sentence; blank if they do not."""
    made = DialogueMetadata.objects.filter(project=dialogue.project_id, key=SOURCE_KEY, value=dialogue.external_id)
    if not made.exists():
        return ""
    return f"Cases were made from {dialogue.external_id}, so their reviewers know the answer."
