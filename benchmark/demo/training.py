"""The training of the demo: three items, and one new member who has not passed yet."""

from annotator.models import User
from annotator.models.content import Dialogue, DialogueStatus
from benchmark.demo.reviewing import SINGLE, Scenario
from reviews.models import GoldItem
from reviews.services.training.decisions import change_training, decide_trainee
from reviews.services.training.items import add_training_item

ITEMS = 3


def set_up(scenario: Scenario, *, exempt: User) -> None:
    """Make items of verified dialogues whose errors reviewers have fixed, and switch the training on.

    ``exempt``: a member who has not submitted anything yet, but needs no training.
    """
    used = GoldItem.every.filter(project=scenario.project, retired_at=None).values("source")
    verified = Dialogue.objects.filter(
        project=scenario.project, status=DialogueStatus.VERIFIED, gold_role="", external_id__in=scenario.corrections
    )
    for source in verified.exclude(pk__in=used).order_by("pk")[:ITEMS]:
        add_training_item(actor=scenario.administrator, project=scenario.project, source=source, stage=SINGLE)
    change_training(
        actor=scenario.administrator,
        project=scenario.project,
        stage=SINGLE,
        length=ITEMS,
        pass_mark=ITEMS - 1,
        attempts=2,
        enabled=True,
    )
    decide_trainee(actor=scenario.administrator, project=scenario.project, public_id=exempt.public_id, state="exempt")
