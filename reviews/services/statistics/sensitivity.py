"""The sensitivity of an audit: how many items with known errors its reviewers noticed.

It is measured in two ways. Administrators enter the results of tests: a second, independent review of audited items
finds errors, and the audit had noticed some of them. Reviews of retired gold items with errors count if the person also
audits in the stage, whatever the stage of the gold item. Gold items in use do not count, so the figure says nothing
about them.
"""

from collections.abc import Collection
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count, Q, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.errors import Hidden, Invalid
from annotator.models import Project, User
from annotator.services.access.permissions import require_administrator
from annotator.services.history.events import append_event
from reviews.core.agreement import Sensitivity
from reviews.core.protocols.random_draws import ROUNDS
from reviews.models import Draw, GoldScore, Review, SensitivityTest
from reviews.models.samples import MAX_KNOWN


@dataclass(frozen=True, slots=True)
class MeasuredSensitivity:
    """The counts of a stage's audit, by source."""

    tests: Sensitivity
    gold: Sensitivity

    @property
    def total(self) -> Sensitivity:
        return Sensitivity(self.tests.found + self.gold.found, self.tests.known + self.gold.known)


def read_sensitivity(project: Project, stages: Collection[str]) -> dict[str, MeasuredSensitivity]:
    """Return the sensitivity of the audit of each of these stages."""
    tests = SensitivityTest.objects.filter(project=project, stage__in=stages, withdrawn_at=None).order_by()
    entered = {
        stage: Sensitivity(found, known)
        for stage, found, known in tests.values_list("stage").annotate(Sum("found"), Sum("known"))
    }
    return {
        stage: MeasuredSensitivity(entered.get(stage, Sensitivity(0, 0)), _of_gold_items(project, stage))
        for stage in stages
    }


def _of_gold_items(project: Project, stage: str) -> Sensitivity:
    audits = Review.objects.filter(project=project, stage_run__stage=stage, stage_run__entered_as="sampled")
    scores = GoldScore.objects.filter(
        project=project, errors__gt=0, item__training_place=None, item__retired_at__isnull=False,
        person__in=audits.values("person"),
    )  # fmt: skip
    found = scores.aggregate(known=Count("pk"), found=Count("pk", filter=Q(found__gt=0)))
    return Sensitivity(found["found"], found["known"])


def audited_stages(project: Project) -> list[str]:
    """Return the stages of which samples were drawn."""
    draws = Draw.objects.filter(project=project).exclude(algorithm=ROUNDS).order_by()
    return list(draws.values_list("stage", flat=True).distinct())


def list_tests(project: Project) -> list[SensitivityTest]:
    """Return the tests that count, newest first."""
    tests = SensitivityTest.objects.filter(project=project, withdrawn_at=None).select_related("actor")
    return list(tests.order_by("-pk"))


@transaction.atomic
def enter_test(*, actor: User, project: Project, stage: str, known: int | None, found: int | None, note: str) -> None:
    """Enter that the reviewers of a stage's audit noticed ``found`` of ``known`` items with errors.

    Raises Denied for all but administrators, Invalid.
    """
    require_administrator(actor=actor, project=project)
    if stage not in audited_stages(project):
        raise Invalid(_("No sample of this stage has been drawn, so it has no audit. Choose another stage."))
    if known is None or not 1 <= known <= MAX_KNOWN:
        sentence = _("Enter the number of items with known errors, from 1 to %(most)s.")
        raise Invalid(sentence % {"most": f"{MAX_KNOWN:,}"})
    if found is None or not 0 <= found <= known:
        sentence = _("Enter how many of the %(known)s known errors the reviewers noticed, from 0 to %(known)s.")
        raise Invalid(sentence % {"known": f"{known:,}"})
    test = SensitivityTest.objects.create(
        project=project, stage=stage, known=known, found=found, note=note.strip()[:500], actor=actor
    )
    append_event(
        actor=actor,
        project=project,
        kind="sensitivity_test.entered",
        after={"test": test.public_id, "stage": stage, "known": known, "found": found, "note": test.note},
    )


@transaction.atomic
def withdraw_test(*, actor: User, project: Project, public_id: str) -> None:
    """Take a test back, so that it no longer counts. A test that was taken back before stays so.

    Raises Denied for all but administrators, Hidden.
    """
    require_administrator(actor=actor, project=project)
    test = SensitivityTest.objects.select_for_update().filter(project=project, public_id=public_id).first()
    if test is None:
        raise Hidden(_("This test doesn’t exist in the project."))
    if test.withdrawn_at is not None:
        return
    test.withdrawn_at = timezone.now()
    test.save(update_fields=["withdrawn_at"])
    append_event(
        actor=actor,
        project=project,
        kind="sensitivity_test.withdrawn",
        before={"test": test.public_id, "stage": test.stage, "known": test.known, "found": test.found},
    )
