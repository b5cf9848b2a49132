"""Forms of error reports and errata."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from benchmark.core.archives.errata import MAX_EVIDENCE, MAX_PLACE, MAX_REASON, Severity
from benchmark.services.releases.errata import MAX_TEXT

SEVERITIES = [
    (Severity.MINOR.value, _("Minor: scores stay the same, for example a typing error")),
    (Severity.MAJOR.value, _("Major: some right answers are scored as wrong, or wrong ones as right")),
    (Severity.CRITICAL.value, _("Critical: the item must not be used")),
]


class ErrorReportForm(forms.Form):
    item = forms.CharField(
        max_length=200,
        label=_("Item"),
        help_text=_("Its id in the release, as in items.jsonl."),
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
    )
    place = forms.CharField(
        max_length=MAX_PLACE,
        required=False,
        label=_("Where"),
        help_text=_("A field or a JSON pointer, for example /tasks/t1/steps/s2/arguments. Blank: the whole item."),
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
    )
    text = forms.CharField(
        max_length=MAX_TEXT,
        label=_("What is wrong"),
        help_text=_("Say what is there, what should be there, and why."),
        widget=forms.Textarea(attrs={"rows": 8}),
    )


class ErratumForm(forms.Form):
    """What the errata log says. ``with_item``: for an erratum without a report."""

    item = ErrorReportForm.base_fields["item"]
    severity = forms.ChoiceField(label=_("Severity"), choices=SEVERITIES, widget=forms.RadioSelect)
    place = ErrorReportForm.base_fields["place"]
    reason = forms.CharField(
        max_length=MAX_REASON,
        label=_("What is wrong"),
        help_text=_("Everyone who reads the log sees this and the evidence. Name no person who reported it."),
        widget=forms.Textarea(attrs={"rows": 6}),
    )
    evidence = forms.CharField(
        max_length=MAX_EVIDENCE,
        required=False,
        label=_("Evidence"),
        widget=forms.Textarea(attrs={"rows": 10, "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, with_item: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not with_item:
            del self.fields["item"]


class DeclineForm(forms.Form):
    reason = forms.CharField(
        max_length=MAX_REASON,
        label=_("Why it is no error"),
        help_text=_("Administrators and senior reviewers see this."),
        widget=forms.Textarea(attrs={"rows": 4}),
    )
