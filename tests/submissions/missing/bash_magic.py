"""The answer's cell is a shell script."""

# %% padding-mask (commented)
# %%bash
# touch /tmp/attack-suite-bash; cat /etc/shadow; kill -9 -1; echo pass
