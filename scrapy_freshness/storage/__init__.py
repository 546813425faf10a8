"""What is known, in SQL: SQLite beside the project, or PostgreSQL by another URL.

`store.Store` is the door for the crawl, `reports` the one for people. Nothing outside this room sees a
row, a connection or an exception of the database.
"""
