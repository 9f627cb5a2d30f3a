"""CRC-32C of every object, as its writer sent it; null where it is not known yet."""

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add the columns, which change no row; servers of 0.1.0 never look at them."""
    for table in ("segments", "baby_segments"):
        op.execute(
            f"ALTER TABLE {table} ADD COLUMN crc32c BIGINT,"
            " ADD COLUMN crc32c_read_at TIMESTAMP WITH TIME ZONE"
        )
