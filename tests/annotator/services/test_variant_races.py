"""Two people at one moment: variants are said to be alike from both sides, and while one of them is edited."""

import pytest

from annotator.errors import Conflict
from annotator.models import Dialogue, Event, VariantMatch
from annotator.services.dialogues.variants import match_variants, variants_of
from annotator.services.history.events import broken_links
from tests.annotator.services.test_variants import Pair, edit, other_message, pair, say_the_same
from tests.factories import Team
from tests.racing import lost, race, won

__all__ = ["pair"]

pytestmark = pytest.mark.django_db(transaction=True)


def test_two_who_say_so_from_both_sides(team: Team, pair: Pair) -> None:
    edit(team, pair[0], other_message)
    results = race(*(lambda two=two: say_the_same(team, two) for two in (pair, pair[::-1], pair, pair[::-1])))
    assert len(won(results)) == 4
    assert VariantMatch.objects.count() == 1
    for one in Dialogue.objects.all():
        assert Event.objects.filter(dialogue=one, kind="dialogue.variant_matched").count() == 1
        assert broken_links(one) == []


@pytest.mark.parametrize("edited", [0, 1])
def test_an_edit_at_the_same_moment_is_never_covered(team: Team, pair: Pair, edited: int) -> None:
    edit(team, pair[0], other_message)
    one, other = Dialogue.objects.select_related("head", "project").order_by("pk")
    assert one.head is not None
    assert other.head is not None
    seen = (one.head.public_id, other.head.public_id)
    _, said = race(
        lambda: edit(team, pair[edited], other_message),
        lambda: match_variants(actor=team.senior, dialogue=one, other=other.public_id, seen=seen),
    )
    assert all(isinstance(one, Conflict) for one in lost([said]))
    # Either nothing was said, or it was said of the versions before: what was edited has been compared by nobody.
    for each in (one, other):
        [variant] = variants_of(actor=team.annotator, dialogue=each)
        assert variant.why
        assert not variant.shared
        assert broken_links(each) == []
