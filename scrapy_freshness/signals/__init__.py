"""Sitemaps, feeds, pings and headers: what is said about pages, read but not yet believed."""
