"""Signals that users can connect to.

Each is sent with ``visit`` (the :class:`~scrapy_freshness.crawl.visiting.PageVisit`), ``response`` (None
if there was none) and ``spider``::

    crawler.signals.connect(self.on_change, signal=scrapy_freshness.crawl.signals.page_changed)
"""

#: A page has new content, or was fetched for the first time.
page_changed = object()
#: A page was looked at and had not changed.
page_unchanged = object()
#: A page answered 404 or 410.
page_gone = object()
