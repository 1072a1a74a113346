"""Terminal codes, NUL, bidirectional marks and HTML in an error's name and text."""

# %% padding-mask
Named = type("\x1b[31mNothing\n<script>\u202e", (Exception,), {})


def padding_mask(lengths, size):
    raise Named("\x1b]0;attack-suite\x07\x1b[2J\x00\u202e\udcff<script>alert(1)</script>\r\n" * 50)
