"""Reads and adopts the versions of a project's protocol."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotator.core.schema import canonical, content_hash, load_text
from annotator.core.schema.canonical import without_kinds
from annotator.core.schema.errors import Problem
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Membership, Project, User
from annotator.presentation.components.labels import words_of
from annotator.services.access.permissions import require_administrator
from annotator.services.history.events import append_event
from annotator.services.projects import follow_long_range_rule
from reviews.core.protocols import (
    PRESETS,
    AuthorRule,
    Outcome,
    Protocol,
    Stage,
    StageKind,
    load_preset,
    read_protocol,
    validate,
)
from reviews.core.protocols.drafting import renumber_checklists
from reviews.models import ProtocolVersion

#: Hash of a definition → the protocol: definitions never change, so each is parsed once in a process.
_PARSED: dict[str, Protocol] = {}
_MAX_PARSED = 256
#: Each is called with (actor, project, before, after), inside the transaction in which a version replaces another one.
REPLACED: list[Callable[..., object]] = []


def parse(version: ProtocolVersion) -> Protocol:
    """Return the protocol of a version. A deferred definition is only fetched if needed."""
    protocol = _PARSED.get(version.content_hash)
    if protocol is None:
        if len(_PARSED) >= _MAX_PARSED:
            _PARSED.clear()
        protocol = _PARSED[version.content_hash] = read_protocol(load_text(version.definition))
    return protocol


def current_version(project: Project) -> ProtocolVersion | None:
    """Return the current version, which new cycles follow; None if the project has no protocol."""
    return ProtocolVersion.objects.filter(project=project).defer("definition").order_by("-number").first()


def current_protocol(project: Project) -> Protocol | None:
    """Return the current protocol."""
    version = current_version(project)
    return None if version is None else parse(version)


def require_version(project: Project) -> ProtocolVersion:
    """Return the current version. Raises Conflict if there is none."""
    version = current_version(project)
    if version is None:
        sentence = _("%(project)s has no review protocol yet. Ask an administrator to adopt one.")
        raise Conflict(sentence % {"project": project.name})
    return version


def translated_preset(name: str, **options: Any) -> Protocol:
    """Return a preset in the active language. Raises what ``load_preset`` raises.

    Once adopted, its texts are the project's own: everyone reads the same, and nobody translates what people typed.
    """
    preset = load_preset(name, **options).model_dump()
    for stage in preset["stages"]:
        stage["title"] = _(stage["title"])
        for item in stage["checklist"]["items"]:
            item["text"] = _(item["text"])
    for kind in preset["taxonomy"]:
        kind |= {"label": _(kind["label"]), "description": _(kind["description"])}
    return read_protocol(preset)


def adopt_preset(*, actor: User | None, project: Project, preset: str, **options: int | float) -> ProtocolVersion:
    """Adopt a preset; ``options`` are the preset's own. Raises Invalid for an unknown preset or a bad option."""
    if preset not in PRESETS:
        sentence = _("There is no preset “%(name)s”. Choose one of: %(names)s.")
        raise Invalid(sentence % {"name": preset, "names": ", ".join(PRESETS)})
    try:
        protocol = translated_preset(preset, **options)
    except (TypeError, ValueError) as error:
        sentence = _("The preset %(name)s doesn’t accept these options: %(error)s.")
        raise Invalid(sentence % {"name": preset, "error": error}) from None
    return adopt_protocol(actor=actor, project=project, protocol=protocol)


def adopt_protocol(
    *,
    actor: User | None,
    project: Project,
    protocol: Protocol,
    seen: int | None = None,
    understaffed: bool = True,
) -> ProtocolVersion:
    """Make a protocol the current version for new cycles (None as actor: the command line).

    Cycles in progress keep the version they started with. Adopting the current protocol again changes nothing. A
    checklist that differs from its stage's last one gets the next version number. If the first protocol is
    WildToolBench's, labels follow its long-range rule; the settings can change that. ``seen``: the number of the
    version it was edited from (0: none). ``understaffed``: whether stages may have too few people. Raises Invalid, with
    every problem, if items could get stuck, and Conflict if another version with other content was adopted since
    ``seen`` (``number``), or if there are too few people (``short``: a sentence for each stage).
    """
    if actor is not None:
        require_administrator(actor=actor, project=project)
    problems = validate(protocol)
    if problems:
        raise Invalid(
            _("The protocol has problems: %(problem)s") % {"problem": problems[0].message},
            problems=[{"pointer": problem.pointer, "message": problem.message} for problem in problems],
        )
    with transaction.atomic():
        # The lock on the project keeps version numbers unique.
        locked = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        versions = list(ProtocolVersion.objects.filter(project=project).defer("definition").order_by("-number"))
        current = versions[0] if versions else None
        number = current.number if current else 0
        protocol = renumber_checklists(protocol, [parse(version) for version in versions])
        text = canonical(without_kinds(protocol.model_dump(mode="json")))
        digest = content_hash(text)
        if current is not None and current.content_hash == digest:
            return current
        if seen is not None and seen != number:
            sentence = _(
                "Version %(number)s was adopted while you were editing version %(seen)s. "
                "Compare the two, then adopt again."
            )
            raise Conflict(sentence % {"number": number, "seen": seen}, number=number)
        short = [] if understaffed else shortfalls(project=project, protocol=protocol)
        if short:
            raise Conflict(_("There are too few people. Invite more, or choose to adopt anyway."), short=short)
        version = ProtocolVersion.objects.create(
            project=project,
            number=number + 1,
            preset=protocol.preset,
            definition=text,
            content_hash=digest,
            author=actor,
        )
        append_event(
            actor=actor,
            project=project,
            kind="protocol.adopted",
            before={"number": current.number, "hash": current.content_hash} if current else {},
            after={"number": version.number, "hash": digest, "preset": protocol.preset},
        )
        if current is None and protocol.preset == "wild":
            follow_long_range_rule(actor=actor, project=locked, rule="wild")
            project.long_range_rule = locked.long_range_rule
        if current is not None:
            for follow in REPLACED:
                follow(actor=actor, project=project, before=parse(current), after=protocol)
    return version


def load_version(*, project: Project, number: str = "") -> ProtocolVersion:
    """Return a version of the protocol, by default the current one. Raises Hidden."""
    versions = ProtocolVersion.objects.filter(project=project).select_related("author").order_by("-number")
    if number:
        is_number = number.isascii() and number.isdigit() and len(number) < 9
        versions = versions.filter(number=int(number) if is_number else 0)
    found = versions.first()
    if found is None:
        if number:
            raise Hidden(_("This version of the protocol doesn’t exist."))
        raise Hidden(_("This project has no protocol yet."))
    return found


def newest_stages(project: Project) -> dict[str, Stage]:
    """Return key → every stage, as in the newest version that has it, in order; those of earlier versions come last."""
    stages: dict[str, Stage] = {}
    for version in ProtocolVersion.objects.filter(project=project).defer("definition").order_by("-number"):
        for stage in parse(version).stages:
            stages.setdefault(stage.key, stage)
    return stages


def stage_titles(project: Project) -> dict[str, str]:
    """Return key → title of every stage, in the same order."""
    return {key: stage.title for key, stage in newest_stages(project).items()}


def shortfalls(*, project: Project, protocol: Protocol) -> list[str]:
    """Return the stages with too few people, as sentences; empty if there are enough."""
    return [problem.message for problem in staff_problems(protocol, list(roles_of_members(project).values()))]


def roles_of_members(project: Project) -> dict[int, frozenset[str]]:
    """Return the key of each member → their roles."""
    roles: dict[int, set[str]] = {}
    members = Membership.objects.active().filter(project=project)
    for user_id, role in members.values_list("user_id", "role"):
        roles.setdefault(user_id, set()).add(role)
    return {user_id: frozenset(held) for user_id, held in roles.items()}


def staff_problems(protocol: Protocol, people: Sequence[frozenset[str]]) -> list[Problem]:
    """Return a problem for each stage with too few people, at the stage's number of reviewers.

    Counts who could review any one item besides its author (and besides whoever changed it, if changes come back to the
    stage): as many as review it at once, or one after the other, and one more if pairs change from round to round. It
    does not consider that a senior reviewer may have cross-checked a disputed item and must then leave it to another
    one.
    """
    authors = {role for stage in protocol.stages if stage.kind is StageKind.SELF_CHECK for role in stage.eligible.roles}
    out = []
    for place, stage in enumerate(protocol.stages):
        wanted = set(stage.eligible.roles)
        able = [held for held in people if held & wanted]
        needed, why = _needed(stage, any(held & authors for held in able))
        if len(able) < needed:
            roles = ", ".join(sorted(words_of("role", role) for role in wanted))
            sentence = ngettext(
                "“%(stage)s” needs %(needed)s person with one of these roles: %(roles)s. It has %(able)s.",
                "“%(stage)s” needs %(needed)s people with one of these roles: %(roles)s. It has %(able)s.",
                needed,
            )
            sentence %= {"stage": stage.title, "needed": needed, "roles": roles, "able": len(able)}
            out.append(Problem(f"/stages/{place}/reviewers", " ".join([sentence, *why])))
    return out


def _needed(stage: Stage, author_may_be_able: bool) -> tuple[int, list[str]]:
    """Return how many people a stage needs for any one item, and why that is more than its reviewers."""
    needed, why = stage.reviewers * stage.consecutive, []
    if stage.consecutive > 1:
        why.append(_("%(count)s are needed for approvals in a row.") % {"count": stage.consecutive})
    if stage.eligible.author is AuthorRule.NOT_AUTHOR:
        if stage.kind is StageKind.EXPERT and _comes_back(stage):
            return needed + 1, [*why, _("One of them may have settled the item before.")]
        if stage.repeats:
            needed += 1
            why.append(_("One of them may have made the last change."))
            if author_may_be_able:
                needed += 1
                why.append(_("Another may own the dialogue."))
        elif author_may_be_able:
            needed += 1
            why.append(_("One of them may be the author."))
    if stage.in_rounds:
        needed += 1
        why.append(_("One more is needed so that pairs can change."))
    return needed, why


def _comes_back(stage: Stage) -> bool:
    """Return whether an item may come to the stage again."""
    return stage.in_rounds or stage.repeats or any(rule.outcome is Outcome.RETURN for rule in stage.outcomes)
