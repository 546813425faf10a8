"""What is a crawl worth now?  One file per value model."""
