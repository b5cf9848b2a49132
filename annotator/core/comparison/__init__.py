"""Compare and merge versions of a dialogue document, and settle their differences. Pure: no Django here."""

from annotator.core.comparison.alignment import align
from annotator.core.comparison.anchor_wording import describe, step_words
from annotator.core.comparison.anchors import AnchorMissing, from_pointer, join, leaves, lookup, owner, resolve, split
from annotator.core.comparison.changes import Change, ChangeKind, apply_changes, diff
from annotator.core.comparison.choices import ChoiceProblem, resolve_choices
from annotator.core.comparison.consequences import dropped, lost_dependencies, moot_anchors, readable
from annotator.core.comparison.describing import DescribedChange, describe_change, describe_changes, value_text
from annotator.core.comparison.discrepancies import Discrepancy, Label, discrepancies, in_reading_order, same_content
from annotator.core.comparison.merging import Choice, Conflict, MergeResult, merge
from annotator.core.comparison.native_remainders import (
    differ_in_remainder_only,
    with_fitting_remainder,
    with_remainder_of,
)
from annotator.core.comparison.same_additions import added_alike, with_values
from annotator.core.comparison.text_diff import Effort, Part, word_diff
