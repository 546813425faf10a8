"""Hubs: which pages of a host show new links, which links are new, and when a hub is left alone."""
