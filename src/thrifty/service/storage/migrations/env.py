"""Migrations run on the connection that store.migrate passes."""

from alembic import context

from thrifty.service.storage.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
