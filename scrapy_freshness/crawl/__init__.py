"""Scrapy: turns the planner's visits into requests and responses into reports; decides nothing."""
