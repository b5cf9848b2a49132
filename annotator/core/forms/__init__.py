"""Forms built from a JSON Schema: fields from values, and values from posted fields. Pure: no Django here."""
