"""PDF: backends give positioned words and rules, one shared builder makes Markdown of them."""
