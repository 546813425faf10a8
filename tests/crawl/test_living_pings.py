"""A crawl of the living site is told of its changes: by the site's hub, and by its submissions."""

from pathlib import Path

from living_site.parameters import Character, Manner, WorldParameters
from living_site.running import RunningSite
from living_site.submitter import indexnow_key
from pinging import PingedCrawl, free_port


def test_a_crawl_hears_of_the_changes_of_a_living_site(tmp_path: Path) -> None:
    port = free_port()
    parameters = WorldParameters(
        seed=2,
        characters=(Character.ANNOUNCING, Character.STRONG_ETAG, Character.ANNOUNCING),
        sitemaps=(Manner.PERFECT, Manner.NOISY),
        pages_per_host=6,
        slowest_change_rate=0.2,
        fastest_change_rate=0.5,
    )
    with RunningSite(parameters, with_hub=True, indexnow_url=f"http://127.0.0.1:{port}/indexnow") as site:
        settings = {
            "FRESHNESS_PING_LISTEN": f"127.0.0.1:{port}",
            "FRESHNESS_PING_URL": f"http://127.0.0.1:{port}",
        }
        pinged = PingedCrawl(tmp_path, site.root_urls[0], settings=settings)
        assert site.hub is not None
        hub = site.hub
        pinged.running.wait_until(lambda: len(hub.topics) >= 3)
        start = site.now()
        pinged.running.wait_until(lambda: site.now() > start + 4)
        done = pinged.stop()
        log = site.log.entries

    announcing = [host for host in site.world.hosts if host.character is Character.ANNOUNCING]
    assert set(hub.topics) <= {page.url for page in site.world.documents if page.host in announcing}
    for host in announcing:
        key_files = [entry for entry in log if entry.path == f"/{indexnow_key(site.world, host)}.txt"]
        assert [entry.status for entry in key_files] == [200]
    assert done.stat("freshness/pings/key_files") == 2
    assert done.stat("freshness/signals/heard") > 0
    assert done.stat("freshness/pings/websub/push") > 0
    assert done.stat("freshness/pings/fetches_saved") > 0
    assert done.stat("freshness/pings/refused/wrong_signature") == 0
    assert done.returncode == 0
    assert "Traceback" not in done.log
