"""What goes wrong with a backup."""


class BackupError(Exception):
    """A sentence that says what is wrong and what to do."""


class Damaged(BackupError):
    """Something stored differs from the manifest."""
