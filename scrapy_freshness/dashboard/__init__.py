"""Web pages over the database: how the crawl does, and why.  They read, and change nothing by themselves."""
