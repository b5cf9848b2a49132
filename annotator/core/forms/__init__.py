"""Forms made from a JSON Schema: fields, and posted fields back to values. Pure: no Django here."""
