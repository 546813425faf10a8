"""The press: a web of newspapers on loopback addresses, whose stories are of short interest.

`world` is what happens and when, for a seed; `pages` and `answers` turn it into bytes, which the server of
`living_site` puts on sockets (`running`); `profit` tells from the request log what a crawl has earned, and
`clicks` who read what and when. `twin` lets the planner of a crawl loose on the same web without sockets.
"""
