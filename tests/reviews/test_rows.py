"""How a row is shown in a shell or in the message of a failed test."""

from reviews.models import Slot, StageRun


def test_a_row_is_its_model_and_its_public_id_or_its_key() -> None:
    assert str(Slot(public_id="k3xq")) == "slot k3xq"
    assert repr(StageRun(pk=7)) == "<StageRun: stage run 7>"
