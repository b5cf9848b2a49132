"""Collect texts for translation, including those of messages (`annotator/core/text.py`)."""

from django.core.management.commands import makemessages


class Command(makemessages.Command):
    xgettext_options = [*makemessages.Command.xgettext_options, "--keyword=message", "--keyword=counted_message:1,2"]
