"""A small web that lives on loopback addresses, changes by itself and knows the truth about it.

`world` is what happens and when, for a seed; `pages`, `announcements` and `oddities` turn it into bytes;
`answers` decides what a request gets; `server` and `running` put that on sockets; `request_log` keeps what
a crawler asked for; `freshness` measures how fresh the crawler's copy was.
"""
