"""A project's settings for its checks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from annotator.core.fields import CustomField
from annotator.core.findings import Severity

LongRangeRule = Literal["c3", "wild"]


@dataclass(frozen=True)
class CheckSettings:
    """``long_range_rule``: how far back a long-range dependency goes. ``severities``: check id → severity or "off".

    c3: the value is neither in this message nor in the previous exchange. wild: there are at least three user messages
    in between, including replies to clarifications (i − j > 2).

    ``fields``: the custom fields, whose values are checked.

    A severity set here applies at every stage, except that unfinished work stays "info" until submission.
    """

    long_range_rule: LongRangeRule = "c3"
    severities: Mapping[str, Severity | Literal["off"]] = field(default_factory=dict, hash=False)
    fields: tuple[CustomField, ...] = ()
