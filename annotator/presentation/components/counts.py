"""Counts in words, such as "3 errors"."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

from annotator.core.graph import Count

_COUNTED = {
    "path": ngettext_lazy("%(count)s path", "%(count)s paths", "number"),
    "branch": ngettext_lazy("%(count)s branch", "%(count)s branches", "number"),
    "batch": ngettext_lazy("%(count)s batch", "%(count)s batches", "number"),
    "next_batch": ngettext_lazy("%(count)s legal next batch", "%(count)s legal next batches", "number"),
    "call": ngettext_lazy("%(count)s call", "%(count)s calls", "number"),
    "function": ngettext_lazy("%(count)s function", "%(count)s functions", "number"),
    "error": ngettext_lazy("%(number)s error", "%(number)s errors", "number"),
    "warning": ngettext_lazy("%(number)s warning", "%(number)s warnings", "number"),
    "waived": ngettext_lazy("%(number)s waived", "%(number)s waived", "number"),
}


def counted(count: Count | int, noun: str) -> str:
    """Return a count as text, such as "more than 1,000 paths": ``{{ view.left|counted:"path" }}``."""
    many = Count(count) if isinstance(count, int) else count
    if many.value is not None:
        shown, number = f"{many.value:,}", many.value
    elif many.at_least is None or many.at_least < 2:
        shown, number = _("too many"), 2
    else:
        shown, number = _("more than %(count)s") % {"count": f"{many.at_least - 1:,}"}, many.at_least
    return _COUNTED[noun] % {"count": shown, "number": number}
