"""Kept messages of segments that servers of 0.1.0 registered."""

from alembic import op

from meta.store.segments import kept_messages

revision = "0049"
down_revision = "0048"


def upgrade() -> None:
    """Fill the rows that have none, in batches beside running writers.

    Servers of 0.2.0 write the message of every segment, so none is missing afterwards.
    """
    with op.get_context().autocommit_block():
        kept_messages.fill(op.get_bind())
