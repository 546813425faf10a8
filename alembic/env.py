"""Run the migrations on the connection that scrapy_freshness.storage.migrations hands over.

Leaves logging alone, and the transaction too: whoever began it commits it.
"""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table=context.config.attributes["version_table"],
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
