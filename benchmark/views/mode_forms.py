"""The fields of a run's mode, for forms."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from benchmark.models import Mode

TASKS = frozenset(("wild", "c3", "mmtb"))


class ModeForm(forms.Form):
    """What is scored, and how it is asked."""

    family = forms.ChoiceField(label=_("Score as"))
    history = forms.ChoiceField(
        label=_("Earlier tasks are shown"),
        choices=[("calls", _("with their calls")), ("answers", _("with answers only"))],
    )
    language = forms.ChoiceField(
        required=False, label=_("Language"), choices=[("", _("English, or the only one")), ("en", "en"), ("zh", "zh")]
    )
    tool_mode = forms.ChoiceField(
        required=False,
        label=_("Tools are given"),
        choices=[("tool_calls", _("by the API")), ("prompt", _("in the prompt, as text"))],
    )
    thinking = forms.ChoiceField(
        required=False,
        label=_("Thinking"),
        choices=[("", _("not stated")), ("on", _("on")), ("off", _("off"))],
        help_text=_("Shown with the run. Assay does not change the model’s setting."),
    )

    def __init__(self, *args: Any, families: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["family"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
        field.choices = [(family, family) for family in families]
        if not set(families) & TASKS:
            del self.fields["history"], self.fields["language"]
        if set(families) == {"async"}:
            del self.fields["tool_mode"]

    @property
    def mode(self) -> Mode:
        """The mode of a valid form."""
        names = ("history", "language", "tool_mode", "thinking")
        return Mode(**{name: self.cleaned_data[name] for name in names if self.cleaned_data.get(name)})
