"""Artificial webs that drive the very planner of the crawl on a manual clock."""
