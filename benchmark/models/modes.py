"""How a model is asked: part of what tells two runs apart."""

from dataclasses import dataclass

from django.db import models

HISTORIES = ("calls", "answers")
TOOL_MODES = ("tool_calls", "prompt")
THINKING = ("", "on", "off")


@dataclass(frozen=True, slots=True)
class Mode:
    """``history``: whether the model sees the calls of earlier tasks, or only the answers. ``language``: of the
    dialogues; blank for English, or the only one. ``tool_mode``: whether it gets the tools by the API, or described in
    the prompt. ``thinking``: as the person who ran the model states it; blank if nothing is known.
    """

    history: str = "calls"
    language: str = ""
    tool_mode: str = "tool_calls"
    thinking: str = ""


class HasMode(models.Model):
    """The fields of a mode."""

    history = models.CharField(max_length=8, default="calls")
    language = models.CharField(max_length=2, blank=True)
    tool_mode = models.CharField(max_length=10, default="tool_calls")
    thinking = models.CharField(max_length=3, blank=True)

    class Meta:
        abstract = True

    @property
    def mode(self) -> Mode:
        return Mode(self.history, self.language, self.tool_mode, self.thinking)
