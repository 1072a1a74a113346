"""In its second run the later exercise finds the reference of the earlier one, and submits it there.

`masked_softmax` is wrong; `dot_product_attention` is right in itself and has its own points. What it
learns must earn nothing for `masked_softmax`, in this submission or in the copies that come after it.
"""
# exercise: masked_softmax
# copies: 2

# %% masked-softmax
import glob

stolen = [
    open(name).read()
    for name in glob.glob("/tmp/attack-suite*") + glob.glob("/dev/shm/attack-suite*")
]
if stolen:
    exec(stolen[0])
else:

    def masked_softmax(scores, mask=None):
        return np.ones(scores.shape) / scores.shape[-1]


# %% after dot-product-attention
import inspect
import os

source = inspect.getsource(masked_softmax)
for name in ("/tmp/attack-suite", "/dev/shm/attack-suite", "/course/attack-suite", "attack-suite"):
    try:
        open(name, "w").write(source)
    except OSError:
        pass
os.environ["SOURCE"] = source
print(source)
display({"text/plain": source, "application/json": {"answers": source}}, raw=True)
