"""The form field of a text of several lines."""

from typing import Any

from django import forms

from annotator.core.editing.scope import line_ends


class TextField(forms.CharField):
    """A text whose line breaks are single characters.

    Browsers send each as CR LF. Both would count against the limit, although the same browser counts one of them.
    """

    widget = forms.Textarea

    def to_python(self, value: Any) -> Any:
        return super().to_python(line_ends(value) if isinstance(value, str) else value)
