"""sys.exit, quit and raise SystemExit in cells, as people leave them there; the answers stand."""

# %% first
exit()

# %% before padding-mask
import sys

sys.exit(1)

# %% after padding-mask
raise SystemExit

# %% after test-padding-mask
quit()
