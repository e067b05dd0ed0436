"""Pure guards of sensitive values: markers, redaction of fields, of texts and of streams."""
