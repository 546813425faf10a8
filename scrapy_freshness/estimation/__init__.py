"""What do we believe?  Change rates and their uncertainty, from what visits saw."""
