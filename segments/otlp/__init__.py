"""Conversion of OTLP to columns: record shredding, as in Dremel, but by a vectorised parser.

    payload --> split --> wire --> content, columns, metrics --> rows of a section
                bounds    nested   json_text: attributes as JSON text
                memory    Arrow    typed_attributes: promoted columns
                  |
                  +-- refused by the columnar parser --> official classes --> wire, or quarantined

- No Python runs per record: a record costs array operations (`arrow`).
- A payload that is refused names itself, and does not hold up its neighbours.
"""
