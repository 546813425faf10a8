"""Spiders as anyone writes them: only `press` knows that its crawl is kept fresh."""
