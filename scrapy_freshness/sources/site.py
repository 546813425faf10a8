"""Which hosts belong to one site?  Those under one registrable domain, by the public suffix list.

The list is the snapshot that comes with tldextract: nothing is downloaded. Its private part counts, too:
blogs of one provider are sites of their own.
"""

from functools import lru_cache

from tldextract import TLDExtract

_extract = TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


@lru_cache(maxsize=4096)
def site_of(host: str) -> str:
    """Return the site that a host belongs to: its registrable domain, with the port if the host has one.

    A host without a known public suffix (an IP address, a machine of an intranet) is a site of its own.

    >>> site_of("www.news.example.co.uk"), site_of("me.blogspot.com"), site_of("127.0.0.1:8000")
    ('example.co.uk', 'me.blogspot.com', '127.0.0.1:8000')
    >>> site_of("news.example.com:8080")
    'example.com:8080'
    """
    name, port = _split(host.lower())
    if name.startswith("["):
        return host.lower()
    found = _extract(name)
    domain = f"{found.domain}.{found.suffix}" if found.domain and found.suffix else name
    return f"{domain}:{port}" if port else domain


def _split(host: str) -> tuple[str, str]:
    name, _, port = host.rpartition(":")
    return (name, port) if name and port.isdigit() else (host, "")
