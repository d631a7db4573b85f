"""Pages: a `Document` is written as one self-contained HTML page and as Markdown, with the same figures in both."""
