"""sys.settrace and sys.setprofile change what the grader's own functions hold while they run."""
# expect: padding_mask=wrong|error

# %% padding-mask
import sys
import threading


def trace(frame, event, argument):
    if frame.f_code.co_name in (
        "call_student_function",
        "pack_result",
        "convert_result",
        "copy_value",
        "pack_outcome",
        "_modified_names",
        "compare_outcome",
    ):
        for name in ("error", "modified_names", "type_name", "kind"):
            if name in frame.f_locals:
                frame.f_locals[name] = ""
    return trace


def padding_mask(lengths, size):
    sys.settrace(trace)
    sys.setprofile(trace)
    threading.settrace(trace)
    frame = sys._getframe()
    while frame:
        frame.f_trace = trace
        frame = frame.f_back
    return np.ones((len(lengths), 1, size), dtype=bool)
