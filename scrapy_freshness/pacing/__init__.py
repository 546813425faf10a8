"""When is a crawl worth enough?  The constant rate and the price of a crawl."""
