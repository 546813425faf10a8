"""A plain Scrapy project that crawls the living site."""
