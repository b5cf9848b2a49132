"""How much of one document is looked through for where its values come from."""

#: Characters looked through for one document; what is not found until then is not known. No dialogue a person reads
#: comes near.
MAX_WORK = 400_000_000
#: What costs more than reading on by a character, in characters: looking into a text at all, a place that looks right
#: at first, one of many dates or words held against a value.
LOOK, PLACE, ITEM = 1_000, 800, 200


class Work:
    """What is left for one document, in characters."""

    __slots__ = ("left",)

    def __init__(self, left: int = MAX_WORK) -> None:
        self.left = left

    def spend(self, characters: int) -> bool:
        """Take that much; tells whether it was still there."""
        self.left -= characters
        return self.left > 0

    @property
    def spent(self) -> bool:
        """Whether nothing is left, so that what was not found is not known."""
        return self.left <= 0
