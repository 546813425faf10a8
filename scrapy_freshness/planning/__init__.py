"""Who is next?  The lazy arg max over all known pages, polite to every host."""
