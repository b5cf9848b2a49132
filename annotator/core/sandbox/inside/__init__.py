"""What runs on the other side: the prepared interpreter and its children. Standard library only, nothing of Assay."""
