// Text that an operator writes and every visitor's browser shows (notice, about, home page, footer): Markdown, HTML or an address.
// Cuts HTML down to an allowlist before it is stored; the console cuts again when it shows it (requirements H01). Pure.

/** Elements that may stay. None of them takes its text raw, and none leaves HTML for SVG or MathML. */
const TAGS = new Set(
  (
    "a abbr b blockquote br caption center cite code col colgroup dd del details div dl dt em figcaption figure font footer h1 h2 h3 " +
    "h4 h5 h6 header hr i img ins kbd li main mark nav ol p picture pre q s samp section small span strike strong sub summary sup " +
    "table tbody td tfoot th thead tr u ul"
  ).split(" "),
);

/** Elements whose content is no text for readers: it goes with them. */
const RAW = new Set(
  "script style iframe object embed applet template noscript noembed noframes textarea title xmp plaintext svg math select".split(
    " ",
  ),
);

/** Attributes that may stay on any element. */
const ATTRIBUTES = new Set(
  (
    "align alt border cellpadding cellspacing color colspan dir height href lang open reversed rowspan size span src start " +
    "style target title valign value width"
  ).split(" "),
);

const STYLES =
  /^(?:color|background-color|text-align|text-decoration|text-indent|vertical-align|line-height|white-space|list-style-type|opacity|width|height|max-width|max-height|min-width|min-height|display|float|clear|border(?:-(?:top|right|bottom|left|radius|color|width|style|collapse|spacing))?|font(?:-(?:size|weight|style|family))?|margin(?:-(?:top|right|bottom|left))?|padding(?:-(?:top|right|bottom|left))?)$/;
/** No functions but colours, no escapes, no addresses. */
const STYLE_VALUE = /^(?:[\w\s#%.,'-]|(?:rgb|rgba|hsl|hsla)\([\d\s.,%/]*\))*$/i;

const LINK = /^(?:https?:\/\/|mailto:|tel:|\/(?![/\\])|#|\.{0,2}\/(?![/\\])|[\w-][\w./-]*(?:[?#]|$))/i;
const IMAGE = /^(?:https:\/\/|\/(?![/\\])|data:image\/(?:png|jpeg|gif|webp);base64,[a-z0-9+/=]*$)/i;

const ATTRIBUTE = /([^\s=/>"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g;
/** `[text](javascript:…)` of Markdown. */
const MARKDOWN_LINK = /(\]\(\s*(?:<\s*)?)(?:javascript|vbscript|data):/gi;
const ADDRESS = /^https?:\/\/\S+$/;

/**
 * Keeps allowed elements with their allowed attributes, drops the rest, and escapes every other `<`, so that what comes out
 * is read by every browser in one way. Doing it again changes nothing. Takes time in proportion to the text.
 */
export function sanitizeHtml(text: string): string {
  if (!text.includes("<")) return neutralLinks(text);
  if (ADDRESS.test(text.trim())) return text.trim().replaceAll("<", "%3C");
  let clean = "";
  let at = 0;
  for (let start = text.indexOf("<"); start >= 0; start = text.indexOf("<", at)) {
    clean += text.slice(at, start);
    const tag = readTag(text, start);
    at = tag.end;
    clean += kept(tag);
    if (RAW.has(tag.name) && !tag.isEnd) at = endOfRaw(text, at, tag.name);
  }
  return neutralLinks(clean + text.slice(at));
}

interface Tag {
  /** Lower case; "" = no element: a lone `<`, a comment, a declaration. */
  readonly name: string;
  readonly isEnd: boolean;
  /** Everything between the name and `>`. */
  readonly attributes: string;
  /** What stands there when it is no element. */
  readonly text: string;
  readonly end: number;
}

const NONE = { name: "", isEnd: false, attributes: "", text: "" } as const;
const NAME = /\/?[a-z][^\s/>]*/iy;

/** Reads what begins with the `<` at `start`. */
function readTag(text: string, start: number): Tag {
  if (text.startsWith("<!--", start)) return { ...NONE, end: after(text, "-->", start + 4) };
  if (/[!?]/.test(text.charAt(start + 1))) return { ...NONE, end: after(text, ">", start + 1) };
  NAME.lastIndex = start + 1;
  const name = NAME.exec(text)?.[0];
  if (name === undefined) return { ...NONE, text: "&lt;", end: start + 1 };
  const nameEnd = start + 1 + name.length;
  const close = closingAngle(text, nameEnd);
  const attributes = text.slice(nameEnd, close);
  // `<https://…>` of Markdown stays as the bare address.
  const address = name + attributes;
  if (/^https?:\/\/[^\s<>"']+$/i.test(address)) return { ...NONE, text: address, end: close + 1 };
  const isEnd = name.startsWith("/");
  return { ...NONE, name: name.slice(isEnd ? 1 : 0).toLowerCase(), isEnd, attributes, end: close + 1 };
}

/** The place behind the next `mark`; the end of the text when there is none. */
function after(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  return found < 0 ? text.length : found + mark.length;
}

/** Where the tag ends: at the first `>` outside quoted values. A quote that nothing closes is none. */
function closingAngle(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === ">") return at;
    if (char !== '"' && char !== "'") continue;
    const quoteEnd = text.indexOf(char, at + 1);
    // Nothing closes it, so the tag ends as if there were no quotes.
    if (quoteEnd < 0) return Math.min(after(text, ">", at) - 1, text.length);
    at = quoteEnd;
  }
  return text.length;
}

function kept({ name, isEnd, attributes, text }: Tag): string {
  if (!TAGS.has(name)) return text;
  return isEnd ? `</${name}>` : openTag(name, attributes);
}

function neutralLinks(text: string): string {
  return text.replace(MARKDOWN_LINK, "$1#");
}

/** Where the content of an element that goes as a whole ends: after its own end tag, or with the text. */
function endOfRaw(text: string, from: number, name: string): number {
  const end = new RegExp(`</${name}(?=[\\s/>])[^>]*>?`, "gi");
  end.lastIndex = from;
  const found = end.exec(text);
  return found ? found.index + found[0].length : text.length;
}

function openTag(name: string, text: string): string {
  const parts: string[] = [];
  const names = new Set<string>();
  for (const [, rawKey = "", double, single, bare] of text.matchAll(ATTRIBUTE)) {
    const key = rawKey.toLowerCase();
    if (!ATTRIBUTES.has(key) || names.has(key)) continue;
    const value = cleanValue(name, key, double ?? single ?? bare ?? "");
    if (value === undefined) continue;
    names.add(key);
    parts.push(` ${key}="${escapeValue(value)}"`);
  }
  if (names.has("target")) parts.push(' rel="noopener noreferrer"');
  return `<${name}${parts.join("")}>`;
}

/** The value as it may stay; undefined = not at all. */
function cleanValue(tag: string, key: string, raw: string): string | undefined {
  const value = decodeEntities(raw).trim();
  switch (key) {
    case "href":
      return tag === "a" && LINK.test(withoutControls(value)) ? withoutControls(value) : undefined;
    case "src":
      return tag === "img" && IMAGE.test(withoutControls(value)) ? withoutControls(value) : undefined;
    case "target":
      return value === "_blank" ? value : undefined;
    case "style":
      return cleanStyle(value);
    default:
      return value;
  }
}

/** What browsers take out of an address before they read its scheme. */
function withoutControls(value: string): string {
  return [...value].filter((char) => char > " " && char !== "\u007f").join("");
}

function cleanStyle(text: string): string | undefined {
  const rules = text.split(";").flatMap((rule) => {
    const colon = rule.indexOf(":");
    const name = rule.slice(0, Math.max(colon, 0)).trim().toLowerCase();
    const value = rule.slice(colon + 1).trim();
    return STYLES.test(name) && value !== "" && STYLE_VALUE.test(value) ? [`${name}: ${value}`] : [];
  });
  return rules.length > 0 ? rules.join("; ") : undefined;
}

const NAMED: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  colon: ":",
  tab: "\t",
  newline: "\n",
  nbsp: "\u00a0",
  sol: "/",
  bsol: "\\",
  lpar: "(",
  rpar: ")",
};

/** Values are judged as browsers read them. An unknown name stays as it is and is escaped again on the way out. */
function decodeEntities(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z]{2,8}));?/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return NAMED[String(name).toLowerCase()] ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(String(hex), 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : "";
  });
}

function escapeValue(value: string): string {
  return value
    .replaceAll("&", "&amp;")
    .replaceAll('"', "&quot;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}
