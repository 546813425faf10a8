"""Spiders as anyone writes them: none of them knows that its crawl is kept fresh."""
