"""Scripts, handlers, frames, SVG, JavaScript, LaTeX and Markdown that would act in a grader's browser."""

# %% padding-mask
from IPython.display import HTML, SVG, Javascript, Latex, Markdown, display


def padding_mask(lengths, size):
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis]


display(HTML("<script>alert('attack-suite')</script><b onclick='alert(1)'>b</b>"))
display(
    HTML("<img src=x onerror=alert('attack-suite')><iframe src='https://example.org'></iframe>")
)
display(
    HTML(
        "<a href='javascript:alert(1)'>a</a><form action='/x'><input autofocus onfocus=alert(1)></form>"
    )
)
display(
    HTML("<svg><script>alert(1)</script></svg><math><mtext><style><img src=x onerror=alert(1)>")
)
display(
    HTML(
        "<style>body { display: none }</style><link rel=stylesheet href='https://example.org/a.css'>"
    )
)
display(
    HTML(
        "<!--><script>alert(1)</script>--><base href='https://example.org'><meta http-equiv=refresh>"
    )
)
display(Javascript("alert('attack-suite')"))
display(Latex(r"$\href{javascript:alert(1)}{x}$<script>alert(1)</script>"))
display(Markdown("<script>alert(1)</script> [a](javascript:alert(1)) <img src=x onerror=alert(1)>"))
display({"image/svg+xml": "<svg onload=alert(1)><script>alert(1)</script></svg>"}, raw=True)
display(
    {"image/png": "'><script>alert(1)</script>", "application/javascript": "alert(1)"}, raw=True
)
display(
    {
        "text/html": "<script>alert(1)</script>",
        "application/vnd.jupyter.widget-view+json": {"model_id": "a"},
    },
    raw=True,
)
print("<script>alert(1)</script>")
raise ValueError("<script>alert('attack-suite')</script>")
