"""Further segments of a registration, stored once instead of once per offset span.

Servers of 0.1.0 beside this release still write a row of `registrations` per span and segment, which
is read as before. They do not see the further segments of registrations written here.
"""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create the table and its index."""
    op.execute(
        "CREATE TABLE registration_segments ("
        " first_segment_id UUID NOT NULL,"
        " segment_id UUID NOT NULL,"
        " CONSTRAINT registration_segments_pkey PRIMARY KEY (first_segment_id, segment_id))"
    )
    op.execute(
        "CREATE INDEX registration_segments_segment_index ON registration_segments (segment_id)"
    )
