"""Estimates the work a protocol needs, with the project's own figures."""

from collections import Counter as Tally
from collections.abc import Mapping
from dataclasses import replace
from statistics import median

from annotator.models import Project
from annotator.models.content import DialogueStatus, GoldRole
from reviews.core.protocols import Protocol
from reviews.core.protocols.estimating import ASSUMED, Assumption, Estimate, estimate
from reviews.models import Review
from reviews.services.protocols.versions import roles_of_members
from reviews.services.statistics.counters import stored_counters

#: How many of the latest reviews are read, and how many a stage needs for its own figures.
LATEST, ENOUGH = 600, 20
#: Items of an empty project: about as many as WildToolBench and C3-Bench have.
USUAL = 1024


def assumptions_for(*, project: Project, protocol: Protocol) -> tuple[dict[str, Assumption], frozenset[str]]:
    """Return {stage: assumption}, and the stages for which it is measured in the project's latest reviews.

    Reviews of gold items are left out, because an administrator decides how many have errors. Sealed reviews are left
    out too: a change of the shares would reveal what a colleague submitted.

    Minutes are the median time of reviews; reviews without time came from a program.
    """
    verdicts: dict[str, Tally[str]] = {}
    seconds: dict[str, list[int]] = {}
    latest = (
        Review.objects.filter(project=project, sealed=False).exclude(dialogue__gold_role=GoldRole.GOLD).order_by("-pk")
    )
    for key, verdict, spent in latest.values_list("stage_run__stage", "verdict", "seconds")[:LATEST]:
        verdicts.setdefault(key, Tally())[verdict] += 1
        if spent:
            seconds.setdefault(key, []).append(spent)
    out, measured = {}, set()
    for stage in protocol.stages:
        found = ASSUMED[stage.kind]
        tally, spent_here = verdicts.get(stage.key, Tally()), seconds.get(stage.key, [])
        if tally.total() >= ENOUGH:
            share = {verdict: round(count / tally.total(), 4) for verdict, count in tally.items()}
            found = replace(
                found,
                fix=share.get("fix", 0.0),
                reject=share.get("reject", 0.0),
                escalate=share.get("escalate", 0.0),
            )
            measured.add(stage.key)
        if len(spent_here) >= ENOUGH:
            found = replace(found, minutes=max(0.1, round(median(spent_here) / 60, 1)))
        out[stage.key] = found
    return out, frozenset(measured)


def usual_items(project: Project) -> int:
    """Return the number of dialogues in the project, or a usual number if it has none."""
    counts = stored_counters(project)
    return sum(counts.get(f"status:{status}", 0) for status in DialogueStatus.values) or USUAL


def dry_run(
    *, project: Project, protocol: Protocol, items: int, assumptions: Mapping[str, Assumption]
) -> tuple[Estimate, int]:
    """Return the estimate for the project's people, and how many of them have a role in the protocol."""
    people = list(roles_of_members(project).values())
    roles = {str(role) for stage in protocol.stages for role in stage.eligible.roles}
    team = [held for held in people if held & roles]
    return estimate(protocol, items=items, assumptions=assumptions, people=team), len(team)
