// What rules of channels may touch: places in bodies, names in values, headers, templates. Pure.

export const MOST_DEPTH = 8;

/** What templates may stand for in values; `{{header:NAME}}` for a header of the client, `{{key}}` in headers alone. */
export const TEMPLATES = [
  "request_id",
  "model",
  "upstream_model",
  "channel_id",
  "key_hash",
  "user_hash",
  "date",
] as const;
/** A template with its name. */
export const TEMPLATE = /\{\{([^{}]*)\}\}/g;
/** `{{raw:model}}` stands for `{{model}}` itself. */
const RAW = "raw:";

/** Headers by which a key or a token goes to an upstream. */
const CREDENTIALS = "authorization|x-api-key|x-goog-api-key|api-key|x-amz-security-token";
export const CREDENTIAL_HEADERS = new RegExp(`^(${CREDENTIALS})$`, "i");
/** Headers that name the client or open something. */
const CLIENTS_OWN = new RegExp(`^((${CREDENTIALS}|cookie|forwarded|x-real-ip)$|x-forwarded-)`, "i");
export const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
/** A client of a conversation sends its key in `sec-websocket-protocol`. */
export const FIXED_HEADERS =
  /^(host|content-length|content-type|content-encoding|transfer-encoding|connection|keep-alive|te|trailer|upgrade|proxy-.*|expect|cookie|sec-websocket-.*|accept-encoding)$/i;

/** Whether a header of the client may be handed on, or told by a template (requirements C36). */
export function mayTell(header: string): boolean {
  return TOKEN.test(header) && !CLIENTS_OWN.test(header) && !FIXED_HEADERS.test(header);
}

/** Headers that conditions never ask about: by trial of patterns a rule would find out what a client authenticates itself with. */
const UNASKED = new RegExp(`^(${CREDENTIALS}|cookie|proxy-.*|sec-websocket-.*)$`, "i");

/** Whether conditions may ask about a header of the client (requirements C36). */
export function mayAsk(header: string): boolean {
  return !UNASKED.test(header);
}

/** A name as lenient parsers compare it: without case, forms and underscores. */
export function folded(name: string): string {
  return name.normalize("NFKC").toLowerCase().replace(/[_-]/g, "");
}

/** What is decided elsewhere: route, way of the answer, number of answers, kept state. */
const DECIDED = new Set(
  "model stream streamoptions n bestof candidatecount numreturnsequences store background previousresponseid conversation".split(
    " ",
  ),
);
/** What would change the price; it may be taken out. */
const DEAR = new Set(
  "servicetier speed inferencegeo promptcacheoptions ttl size quality seconds duration resolution tools websearchoptions websearch enablesearch plugins".split(
    " ",
  ),
);
const POISON = new Set(["__proto__", "constructor", "prototype"]);
/** Limits of the answer's length: what is set aside follows them (requirements C35). */
const LENGTHS = new Set(
  "maxtokens maxcompletiontokens maxoutputtokens maxnewtokens numpredict npredict maxtokenstosample".split(
    " ",
  ),
);

/** The segments of a JSON Pointer; undefined = it is none. */
export function segmentsOf(pointer: string): readonly string[] | undefined {
  if (!pointer.startsWith("/") || /~(?![01])/.test(pointer)) return undefined;
  return pointer
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

export function isLength(segments: readonly string[]): boolean {
  return isLengthName(segments.at(-1) ?? "");
}

export function isLengthName(name: string): boolean {
  return LENGTHS.has(folded(name));
}

/** Whether a value limits a length: 0 and numbers below it are no limit to some upstreams. */
export function isLimit(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 1;
}

/** What else is decided elsewhere, and may be taken out all the same. */
const REMOVABLE = new Set(["store", "streamoptions/includeobfuscation"]);

/** `rename` takes a place away and writes its value elsewhere. */
export type Way = "read" | "write" | "rename" | "remove";

/** Why a place may not be used so; undefined = it may. */
export function refusalOf(segments: readonly string[], way: Way): string | undefined {
  const [first = ""] = segments;
  if (first === "" || first === "*") return "须从顶层字段的名称开始";
  if (segments.length > MOST_DEPTH) return `最多 ${MOST_DEPTH} 层`;
  if (segments.some((name) => POISON.has(name))) return "不能使用这个名称";
  if (way === "read") return undefined;
  const names = segments.map(folded);
  if (way === "remove" && REMOVABLE.has(names.join("/"))) return undefined;
  const decided = names.findIndex((name) => DECIDED.has(name));
  if (decided >= 0) return `不能修改 ${segments[decided]}：它由网关决定`;
  const dear = names.findIndex((name) => DEAR.has(name));
  if (dear >= 0 && (way === "write" || dear < names.length - 1))
    return `不能修改 ${segments[dear]}：它会改变价格`;
  if (way !== "write" && isLength(segments)) return "不能删除长度上限，可以用 cap 降低";
  return undefined;
}

/** Names inside a value that would be barred as a path, and how deep and large it is. */
export function judgeValue(
  value: unknown,
  depth = 1,
): { readonly refusal: string | undefined; readonly count: number } {
  if (typeof value !== "object" || value === null) return { refusal: undefined, count: 1 };
  if (depth > MOST_DEPTH) return { refusal: `值最多 ${MOST_DEPTH} 层`, count: 1 };
  let count = 1;
  for (const [name, inner] of Object.entries(value)) {
    const isList = Array.isArray(value);
    const refusal = isList ? undefined : refusalOf([name === "" ? "-" : name], "write");
    const judged = judgeValue(inner, depth + 1);
    count += judged.count;
    if (refusal ?? judged.refusal) return { refusal: refusal ?? judged.refusal, count };
  }
  return { refusal: undefined, count };
}

/** Why a value cannot be saved: its templates, or a limit of length in it, which only a path of its own may set. undefined = it can. */
export function valueRefusal(value: unknown): string | undefined {
  if (typeof value === "string") return templateRefusal(value, false);
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    if (isLengthIn(name, inner)) return `值里不能有长度上限 ${name}，请另用一个操作设置它`;
    const refusal = valueRefusal(inner);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** Whether a member of a value is a limit of length; the schema of a tool may have a parameter of that name. */
export function isLengthIn(name: string, value: unknown): boolean {
  return isLengthName(name) && (typeof value !== "object" || value === null);
}

/** Why an operation cannot be used at a limit of length; undefined = it can, or it is at another place. */
export function lengthRefusal(segments: readonly string[], op: string, value: unknown): string | undefined {
  if (segments.slice(0, -1).some(isLengthName)) return "长度上限是一个数，里面没有字段";
  if (!isLength(segments)) return undefined;
  if (op === "append" || op === "prepend" || op === "text")
    return "长度上限只能用“设置字段”“缺少时设置”“不超过”“不低于”或“字段改名”";
  return isLimit(value) ? undefined : "长度上限须为大于 0 的整数";
}

/** Why the templates in a text cannot be filled in; undefined = they can. */
export function templateRefusal(text: string, isHeader: boolean): string | undefined {
  for (const [whole, name = ""] of text.matchAll(TEMPLATE)) {
    if ((TEMPLATES as readonly string[]).includes(name) || name.startsWith(RAW)) continue;
    if (name === "key") {
      if (!isHeader) return "{{key}} 只能用在请求头里";
      continue;
    }
    const header = /^header:(.+)$/.exec(name)?.[1];
    if (header === undefined) return `不认识的模板 ${whole}`;
    if (!mayTell(header)) return `不能使用请求头 ${header}`;
  }
  return undefined;
}

/** What `{{raw:…}}` stands for; undefined = the template is another one. */
export function rawOf(name: string): string | undefined {
  return name.startsWith(RAW) ? `{{${name.slice(RAW.length)}}}` : undefined;
}

/** A text that templates leave as it is. */
export function literal(text: string): string {
  return text.replace(TEMPLATE, (_whole, name: string) => `{{${RAW}${name}}}`);
}
