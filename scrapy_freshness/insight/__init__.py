"""What a person wants to know of a crawl, by the rules that the crawl itself follows."""
