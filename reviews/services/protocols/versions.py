"""The protocol of a project: adopted, versioned, read."""

from collections.abc import Callable, Sequence

from django.db import transaction

from annotator.core.schema import canonical, content_hash, load_text
from annotator.core.schema.canonical import without_kinds
from annotator.core.schema.errors import Problem
from annotator.errors import Conflict, Invalid
from annotator.models import Membership, Project, User
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

#: Hash of a definition → the protocol: definitions never change, so each is parsed once a process.
_PARSED: dict[str, Protocol] = {}
_MAX_PARSED = 256
#: Each is called with (actor, project, before, after), inside the transaction in which a version replaces another one.
REPLACED: list[Callable[..., object]] = []


def parse(version: ProtocolVersion) -> Protocol:
    """The protocol of a version. Where the row was loaded without its definition, that is only fetched if needed."""
    protocol = _PARSED.get(version.content_hash)
    if protocol is None:
        if len(_PARSED) >= _MAX_PARSED:
            _PARSED.clear()
        protocol = _PARSED[version.content_hash] = read_protocol(load_text(version.definition))
    return protocol


def current_version(project: Project) -> ProtocolVersion | None:
    """The version under which cycles begin now; None where the project has not adopted a protocol."""
    return ProtocolVersion.objects.filter(project=project).defer("definition").order_by("-number").first()


def current_protocol(project: Project) -> Protocol | None:
    """The protocol in force."""
    version = current_version(project)
    return None if version is None else parse(version)


def require_version(project: Project) -> ProtocolVersion:
    """The version in force. Raises Conflict where there is none."""
    version = current_version(project)
    if version is None:
        raise Conflict(f"{project.name} has no review protocol yet; an administrator adopts one first.")
    return version


def adopt_preset(*, actor: User | None, project: Project, preset: str, **options: int | float) -> ProtocolVersion:
    """Put a published protocol in force; ``options`` are the preset's own. Raises Invalid for one there is not."""
    if preset not in PRESETS:
        raise Invalid(f"There is no protocol called “{preset}”; choose one of: {', '.join(PRESETS)}.")
    try:
        protocol = load_preset(preset, **options)
    except (TypeError, ValueError) as error:
        raise Invalid(f"The protocol {preset} cannot be set up like this: {error}.") from None
    return adopt_protocol(actor=actor, project=project, protocol=protocol)


def adopt_protocol(
    *, actor: User | None, project: Project, protocol: Protocol, seen: int | None = None
) -> ProtocolVersion:
    """Put a protocol in force for the cycles that begin from now on (None as actor: the command line).

    Cycles under way keep the version they began under. Adopting what is in force already changes nothing. A checklist
    that differs from its stage's last one gets the next version number. Where the first protocol is WildToolBench's,
    labels follow its long-range rule from then on; the settings change it. ``seen``: the number of the version it was
    written from (0: there was none). Raises Invalid, with every problem, where items could get stuck, Conflict where
    another version, of other content, has come into force since ``seen``.
    """
    if actor is not None:
        require_administrator(actor=actor, project=project)
    problems = validate(protocol)
    if problems:
        raise Invalid(
            f"The protocol cannot be worked with: {problems[0].message}",
            problems=[{"pointer": problem.pointer, "message": problem.message} for problem in problems],
        )
    with transaction.atomic():
        # Numbers are given out under the project's row.
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
            raise Conflict(
                f"Version {number} came into force while you edited version {seen}; compare the two, then adopt again.",
                number=number,
            )
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


def stage_titles(project: Project) -> dict[str, str]:
    """Key → title of every stage, in order; stages that only earlier versions have come last."""
    titles: dict[str, str] = {}
    for version in ProtocolVersion.objects.filter(project=project).defer("definition").order_by("-number"):
        for stage in parse(version).stages:
            titles.setdefault(stage.key, stage.title)
    return titles


def shortfalls(*, project: Project, protocol: Protocol) -> list[str]:
    """Stages for which the project has too few people, as sentences; empty when the protocol can be staffed."""
    return [problem.message for problem in staff_problems(protocol, list(roles_of_members(project).values()))]


def roles_of_members(project: Project) -> dict[int, frozenset[str]]:
    """Key of each member → their roles."""
    roles: dict[int, set[str]] = {}
    members = Membership.objects.active().filter(project=project)
    for user_id, role in members.values_list("user_id", "role"):
        roles.setdefault(user_id, set()).add(role)
    return {user_id: frozenset(held) for user_id, held in roles.items()}


def staff_problems(protocol: Protocol, people: Sequence[frozenset[str]]) -> list[Problem]:
    """Stages for which people with these roles are too few, each at the stage's number of reviewers.

    Counts who could review any one item beside its author, who must be among them where changes come back to the stage:
    as many as look at it at once, or one after the other at the same version, and one more where pairs change from
    round to round. That an expert may have cross-checked a disputed item, and then must leave it to another, is not
    foreseen here.
    """
    authors = {role for stage in protocol.stages if stage.kind is StageKind.SELF_CHECK for role in stage.eligible.roles}
    out = []
    for place, stage in enumerate(protocol.stages):
        wanted = set(stage.eligible.roles)
        able = [held for held in people if held & wanted]
        needed, why = _needed(stage, any(held & authors for held in able))
        if len(able) < needed:
            words = " or ".join(sorted(role.replace("_", " ") for role in wanted))
            missing = needed - len(able)
            said = f": {missing} {'is' if missing == 1 else 'are'} missing" if _comes_back(stage) else ""
            sentence = f"“{stage.title}” needs {needed} with the role {words}{why}, and has {len(able)}{said}."
            out.append(Problem(f"/stages/{place}/reviewers", sentence))
    return out


def _needed(stage: Stage, author_may_be_able: bool) -> tuple[int, str]:
    """How many people a stage takes for any one item, and why it is more than its reviewers."""
    needed, why = stage.reviewers * stage.consecutive, ""
    if stage.eligible.author is AuthorRule.NOT_AUTHOR:
        if stage.kind is StageKind.EXPERT and _comes_back(stage):
            return needed + 1, ", one of whom may have settled the item before"
        if stage.repeats:
            needed, why = needed + 1, ", one of whom may have made the change that is looked at"
            if author_may_be_able:
                needed, why = needed + 1, f"{why}, another may own the dialogue"
        elif author_may_be_able:
            needed, why = needed + 1, ", one of whom may be the author"
    if stage.consecutive > 1:
        why = f", {stage.consecutive} for approvals in a row{why}"
    if stage.in_rounds:
        needed, why = needed + 1, f"{why} and one more so that pairs can change"
    return needed, why


def _comes_back(stage: Stage) -> bool:
    """Whether an item may come to the stage again and again."""
    return stage.in_rounds or stage.repeats or any(rule.outcome is Outcome.RETURN for rule in stage.outcomes)
