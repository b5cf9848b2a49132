"""What runs inside the sandbox: the prepared interpreter and its children. Only the standard library, no Assay."""
