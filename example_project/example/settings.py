"""Settings of the example project: an ordinary Scrapy project, and the one line that keeps it fresh."""

BOT_NAME = "example"
SPIDER_MODULES = ["example.spiders"]
NEWSPIDER_MODULE = "example.spiders"

ADDONS = {"scrapy_freshness.Addon": 500}

USER_AGENT = "example (+http://127.0.0.2:8800/)"
ROBOTSTXT_OBEY = True
LOG_LEVEL = "INFO"
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False

# All fetches together, robots.txt included.
FRESHNESS_BUDGET = "20/s"

# What to expect of a page never seen before: one change seen after the first time, none after the second. On
# the real web 1 hour and 57 hours fit; the living site lives much faster.
FRESHNESS_ESTIMATOR = "mle"
FRESHNESS_PRIOR_CHANGED_AFTER = "1s"
FRESHNESS_PRIOR_UNCHANGED_AFTER = "10s"
