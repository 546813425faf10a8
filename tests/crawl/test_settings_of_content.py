"""Settings about content are refused by name."""

import pytest

from scrapy_freshness.config import Config
from scrapy_freshness.crawl.configured import content_options
from scrapy_freshness.errors import ConfigError


@pytest.mark.parametrize("name", ["FRESHNESS_INCLUDE_CSS", "FRESHNESS_EXCLUDE_CSS"])
def test_a_selector_that_cannot_be_used_is_refused_with_its_setting(name: str) -> None:
    config = Config.from_settings({name: {"example.com": ["div["]}})

    with pytest.raises(ConfigError, match=rf"^{name}: .*div\["):
        content_options(config)
