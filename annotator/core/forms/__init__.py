"""Forms made from a JSON Schema: fields, and what is posted of them back to values. Pure: no Django here."""
