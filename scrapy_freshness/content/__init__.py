"""What is on a page, and how far has it moved."""
