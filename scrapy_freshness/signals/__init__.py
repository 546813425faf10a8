"""Sitemaps, feeds and pings: what is said about pages, read but not yet believed."""
