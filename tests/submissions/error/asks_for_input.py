"""Waits for a line from the keyboard."""


# %% padding-mask
def padding_mask(lengths, size):
    return input("the answer, please: ")
