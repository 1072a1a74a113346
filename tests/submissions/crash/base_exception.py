"""An exception that is no Exception, so that nothing ordinary catches it."""


# %% padding-mask
class Beyond(BaseException):
    pass


def padding_mask(lengths, size):
    raise Beyond
