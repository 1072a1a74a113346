"""Download of GPT-2 small for the lab `gpt-2`, in place of the stand-in.

    python -m attention_labs.download_gpt2

The four files of the published checkpoint go into the folder `data/gpt2`, which `gpt2.load` then
prefers. The folder appears only when all four are whole and have their digests. What an interrupted
download has fetched is kept in a hidden folder beside it, and the next run goes on from there.
"""

import errno
import hashlib
import http.client
import os
import shutil
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from attention_labs.gpt2 import DATA, REAL, CheckpointError

# One fixed state of the public repository, so that sizes and digests cannot change.
REVISION = "607a30d783dfa663caf39e06633721c8d4cfcd7e"
BASE_URL = f"https://huggingface.co/openai-community/gpt2/resolve/{REVISION}"
PIECE = 1 << 20  # bytes read at a time
LICENCE = (
    "GPT-2 is by A. Radford, J. Wu, R. Child, D. Luan, D. Amodei and I. Sutskever (Language Models are "
    "Unsupervised Multitask Learners, 2019), under the MIT licence. It was trained on web pages and can write "
    "what is false or offensive."
)


class RemoteFile(NamedTuple):
    """A file to download: its name, its size in bytes and its SHA-256 digest."""

    name: str
    size: int
    digest: str


FILES = (
    RemoteFile(
        "config.json", 665, "0daed7749b4f02b8f76240d5444551d7b08712dab4d0adb8239c56ba823bb7b4"
    ),
    RemoteFile(
        "merges.txt", 456_318, "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"
    ),
    RemoteFile(
        "vocab.json", 1_042_301, "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"
    ),
    RemoteFile(
        "model.safetensors",
        548_105_171,
        "248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707",
    ),
)


def fetch(
    data_dir: Path = DATA,
    base_url: str = BASE_URL,
    *,
    files: Sequence[RemoteFile] = FILES,
    attempts: int = 4,
    wait: float = 1.0,
    timeout: float = 30.0,
) -> list[str]:
    """Download a checkpoint's files, check their digests, and install them.

    Parameters
    ----------
    data_dir : pathlib.Path
        Parent of the new folder ``gpt2``.
    base_url : str
        Address of the folder that holds the files.
    files : sequence of RemoteFile
    attempts : int
        Maximum number of attempts in a row that bring no byte of a file.
    wait : float
        Seconds before the second attempt; each further one waits twice as long.
    timeout : float
        Seconds without a byte after which a connection counts as broken.

    Returns
    -------
    list of str
        Sentences to show: what is in use, its licence and its authors.

    Raises
    ------
    CheckpointError
        If the server, the disk or a digest fails; the text is one sentence. The model in use is as
        it was, and whole pieces of a file are kept for the next attempt.
    """
    place, workspace = Path(data_dir) / REAL, Path(data_dir) / f".{REAL}-part"
    if all(_has_digest(place / file.name, file) for file in files):
        return [f"GPT-2 small is here already, in {place}.", LICENCE]
    if not base_url.startswith(("https://", "http://")):
        raise refusal(base_url, "is not an address on the web")
    try:
        workspace.mkdir(parents=True, exist_ok=True)
        _require_space(workspace, files)
        for file in files:
            url = f"{base_url.rstrip('/')}/{file.name}"
            _download(url, workspace / file.name, file, attempts, wait, timeout)
        _install(workspace, place)
    except OSError as error:
        raise refusal(workspace, f"cannot be written ({error.strerror or error})") from None
    return [f"In use now: GPT-2 small, in {place}.", LICENCE]


def refusal(subject: object, problem: str) -> CheckpointError:
    """Return the error for a problem with a file or folder; the model in use is unchanged."""
    return CheckpointError(f"{subject} {problem}; the model in use is as it was.")


def _require_space(workspace: Path, files: Sequence[RemoteFile]) -> None:
    """Refuse a download for which the disk has no room."""
    missing = sum(file.size - _size(workspace / file.name) for file in files)
    free = shutil.disk_usage(workspace).free
    if missing > free:
        raise refusal(
            workspace,
            f"needs {missing / 1e6:,.0f} MB more, and the disk has {free / 1e6:,.0f} MB free",
        )


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _has_digest(path: Path, file: RemoteFile) -> bool:
    if _size(path) != file.size:
        return False
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest() == file.digest


def _download(
    url: str, path: Path, file: RemoteFile, attempts: int, wait: float, timeout: float
) -> None:
    """Bring one file to its full size, from where it ends, and check its digest."""
    failures, reason = 0, ""
    while _size(path) < file.size:
        if failures == attempts:
            raise refusal(
                url,
                f"cannot be read, {attempts} attempts failed ({reason}{_describe_proxy()}): try again later, "
                "the download goes on from where it stopped",
            )
        if failures:
            time.sleep(wait * 2 ** (failures - 1))
        before = _size(path)
        reason = _read_on(url, path, file, timeout)
        failures = 0 if _size(path) > before else failures + 1
    if not _has_digest(path, file):
        path.unlink()
        raise refusal(
            url,
            f"has another content than expected (its SHA-256 is not {file.digest[:12]}…), and was thrown away",
        )


def _describe_proxy() -> str:
    """Return a hint at the proxy that the environment names, without its password."""
    proxies = urllib.request.getproxies()
    name = next((scheme for scheme in ("https", "http") if scheme in proxies), None)
    return f"; the proxy is that of the variable {name}_proxy" if name else ""


def _read_on(url: str, path: Path, file: RemoteFile, timeout: float) -> str:
    """Append to a file what it lacks; return why the connection ended early, or ""."""
    have = _size(path)
    headers = {"User-Agent": "attention-labs"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=timeout
        ) as response:
            resumed = response.status == http.client.PARTIAL_CONTENT
            if resumed and not response.headers.get("Content-Range", "").startswith(
                f"bytes {have}-"
            ):
                path.unlink()
                return "the server went on from another place"
            _append(response, path, file, have if resumed else 0)
    except urllib.error.HTTPError as error:
        error.close()
        reason = f"the server says {error.code} {error.reason}"
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            path.unlink()
        elif error.code < 500 and error.code != http.client.TOO_MANY_REQUESTS:
            raise refusal(url, f"cannot be had ({reason}{_describe_proxy()})") from None
        return reason
    except _DiskError:
        raise
    except (OSError, http.client.HTTPException) as error:
        return str(getattr(error, "reason", error)) or type(error).__name__
    return "the connection broke"


class _DiskError(CheckpointError):
    """The disk did not take what was fetched."""


def _append(response: Any, path: Path, file: RemoteFile, have: int) -> None:
    """Write the rest of a file behind its first `have` bytes."""
    show = _make_progress(file)
    try:
        with path.open("ab") as target:
            target.truncate(have)
            while piece := response.read(PIECE):
                have += len(piece)
                if have > file.size:
                    target.truncate(0)
                    raise _DiskError(
                        f"{response.url} is longer than {file.size:,} bytes; the model in use is as it was."
                    )
                _write(target, piece)
                show(have)
    finally:
        show(None)


def _write(target: Any, piece: bytes) -> None:
    try:
        target.write(piece)
        target.flush()
    except OSError as error:
        reason = os.strerror(errno.ENOSPC) if error.errno == errno.ENOSPC else str(error)
        raise _DiskError(
            f"{target.name} cannot be written ({reason}); the model in use is as it was, and the next "
            "attempt goes on from here."
        ) from None


def _make_progress(file: RemoteFile) -> Callable[[int | None], None]:
    """Return a function that shows how many bytes there are; None ends the bar."""
    from rich.console import Console
    from rich.progress import DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    console = Console(stderr=True)
    if not console.is_terminal or file.size < PIECE:
        return lambda have: None
    bar = Progress(TextColumn(file.name), DownloadColumn(), TransferSpeedColumn(), console=console)
    task = bar.add_task(file.name, total=file.size)
    bar.start()

    def show(have: int | None) -> None:
        if have is None:
            bar.stop()
        else:
            bar.update(task, completed=have)

    return show


def _install(workspace: Path, place: Path) -> None:
    """Move the whole checkpoint to its place; a broken one that is there goes away."""
    if place.exists():
        old = workspace.with_name(f"{workspace.name}-old")
        shutil.rmtree(old, ignore_errors=True)
        place.rename(old)
        try:
            workspace.rename(place)
        except OSError:
            old.rename(place)
            raise
        shutil.rmtree(old, ignore_errors=True)
    else:
        workspace.rename(place)


def main() -> None:
    """Run the command: fetch the model and say what is in use; exit with 1 after an error."""
    size = sum(file.size for file in FILES) / 1e6
    print(
        f"GPT-2 small: {size:,.0f} MB, from {BASE_URL.partition('/resolve')[0]}, under the MIT licence."
    )
    try:
        print(*fetch(), sep="\n")
    except CheckpointError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(
            "Stopped. What has been fetched is kept, and the next `make data` goes on from there."
        )


if __name__ == "__main__":
    main()
