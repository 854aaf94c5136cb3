// What a channel changes in its requests: typed rules on body and headers with conditions (requirements C32, C33, C34, C36). The schema is
// the law: what could change the price, the model, the way of the answer or the credential cannot be written.
import { z } from "zod";

const MOST_RULES = 50;
const MOST_BYTES = 16_384;
const MOST_DEPTH = 8;
const MOST_VALUES = 200;

/** Formats that a rule may be for: what the client called. */
export const REWRITE_FORMATS = [
  "chat",
  "completions",
  "messages",
  "responses",
  "generate",
  "embeddings",
  "rerank",
  "moderation",
] as const;

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
const TEMPLATE = /\{\{([^{}]*)\}\}/g;

/** Headers by which a key or a token goes to an upstream. */
const CREDENTIALS = "authorization|x-api-key|x-goog-api-key|api-key|x-amz-security-token";
const CREDENTIAL_HEADERS = new RegExp(`^(${CREDENTIALS})$`, "i");
/** Headers of clients that may be handed on or told: none that names the client or opens something. */
const CLIENT_HEADER = new RegExp(`^(?!(${CREDENTIALS}|cookie|forwarded|x-real-ip)$|x-forwarded-)`, "i");
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const FIXED_HEADERS =
  /^(host|content-length|content-type|content-encoding|transfer-encoding|connection|keep-alive|te|trailer|upgrade|proxy-.*|expect|cookie|sec-websocket-.*|accept-encoding)$/i;

/** A name as lenient parsers compare it: without case, forms and underscores. */
function folded(name: string): string {
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
  return LENGTHS.has(folded(segments.at(-1) ?? ""));
}

type Way = "read" | "write" | "remove";

/** Why a place may not be used so; undefined = it may. */
function refusalOf(segments: readonly string[], way: Way): string | undefined {
  const [first = ""] = segments;
  if (first === "" || first === "*") return "须从顶层字段的名称开始";
  if (segments.length > MOST_DEPTH) return `最多 ${MOST_DEPTH} 层`;
  if (segments.some((name) => POISON.has(name))) return "不能使用这个名称";
  if (way === "read") return undefined;
  const names = segments.map(folded);
  const decided = names.findIndex((name) => DECIDED.has(name));
  if (decided >= 0) return `不能修改 ${segments[decided]}：它由网关决定`;
  const dear = names.findIndex((name) => DEAR.has(name));
  if (dear >= 0 && (way === "write" || dear < names.length - 1))
    return `不能修改 ${segments[dear]}：它会改变价格`;
  if (way === "remove" && isLength(segments)) return "不能删除长度上限，可以用 cap 降低";
  return undefined;
}

function pointer(way: Way) {
  return z
    .string()
    .max(300, "路径过长")
    .superRefine((text, { addIssue }) => {
      const segments = segmentsOf(text);
      const refusal =
        segments === undefined ? "路径须为 JSON Pointer，例如 /temperature" : refusalOf(segments, way);
      if (refusal !== undefined) addIssue(`${text}：${refusal}`);
    });
}

/** Names inside a value that would be barred as a path, and how deep and large it is. */
function judgeValue(
  value: unknown,
  depth = 1,
): { readonly refusal: string | undefined; readonly count: number } {
  if (typeof value === "string") return { refusal: templateRefusal(value, false), count: 1 };
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

/** Why the templates in a text cannot be filled in; undefined = they can. */
function templateRefusal(text: string, isHeader: boolean): string | undefined {
  for (const [whole, name = ""] of text.matchAll(TEMPLATE)) {
    if ((TEMPLATES as readonly string[]).includes(name)) continue;
    if (name === "key") {
      if (!isHeader) return "{{key}} 只能用在请求头里";
      continue;
    }
    const header = /^header:(.+)$/.exec(name)?.[1];
    if (header === undefined) return `不认识的模板 ${whole}`;
    if (!TOKEN.test(header) || !CLIENT_HEADER.test(header)) return `不能使用请求头 ${header}`;
  }
  return undefined;
}

/** Judged as it came: what reads it drops poisonous names in silence. */
const Value = z
  .unknown()
  .superRefine((value, { addIssue }) => {
    const { refusal, count } = judgeValue(value);
    if (refusal !== undefined) addIssue(refusal);
    else if (count > MOST_VALUES) addIssue(`值最多 ${MOST_VALUES} 项`);
  })
  .pipe(z.json());

const HeaderName = z
  .string()
  .regex(TOKEN, "请求头名称只能含字母、数字和连字符")
  .refine((name) => !FIXED_HEADERS.test(name), "这个请求头由网关决定，不能修改");
const HeaderValue = z
  .string()
  .max(2_000, "请求头的值过长")
  .regex(/^[\t\x20-\x7e]*$/, "请求头的值只能含可见的 ASCII 字符")
  .superRefine((text, { addIssue }) => {
    const refusal = templateRefusal(text, true);
    if (refusal !== undefined) addIssue(refusal);
  });

const SetHeader = z
  .strictObject({ op: z.literal("setHeader"), name: HeaderName, value: HeaderValue })
  .refine(
    ({ name, value }) => !CREDENTIAL_HEADERS.test(name) || value.includes("{{key}}"),
    "凭证请求头的值须含 {{key}}",
  );
const NotCredential = HeaderName.refine((name) => !CREDENTIAL_HEADERS.test(name), "不能去掉凭证请求头");
const Handed = HeaderName.refine((name) => CLIENT_HEADER.test(name), "不能转发这个请求头");
const written = { path: pointer("write"), value: Value };
const Limit = z.object({ path: pointer("write"), value: z.number() });

/** A rename of a limit of length must stay one: the limit is not lost on the way. */
const Rename = z
  .strictObject({ op: z.literal("rename"), path: pointer("read"), to: pointer("write") })
  .superRefine(({ path, to }, { addIssue }) => {
    const [from = [], target = []] = [segmentsOf(path), segmentsOf(to)];
    const isBoth = isLength(from) === isLength(target);
    const refusal = isBoth && isLength(from) ? undefined : refusalOf(from, "remove");
    if (refusal !== undefined) addIssue(refusal);
    else if (!isBoth) addIssue("长度上限只能改名为另一个长度上限");
    if ([...from, ...target].some((name) => name === "*")) addIssue("改名的路径不能含 *");
  });

const Copy = z
  .strictObject({ op: z.literal("copy"), path: pointer("read"), to: pointer("write") })
  .refine(
    ({ path, to }) => ![path, to].some((text) => text.includes("*") || isLength(segmentsOf(text) ?? [])),
    "复制的路径不能含 *，也不能是长度上限",
  );

/** What `text` does to a text: `value` is the prefix, the suffix, or what is replaced by `with`. */
export const TEXT_EDITS = [
  "trimPrefix",
  "trimSuffix",
  "ensurePrefix",
  "ensureSuffix",
  "trimSpace",
  "toLower",
  "toUpper",
  "replace",
] as const;

export const RewriteAction = z.discriminatedUnion("op", [
  z.strictObject({ op: z.literal("set"), ...written }),
  z.strictObject({ op: z.literal("default"), ...written }),
  z.strictObject({ op: z.literal("remove"), path: pointer("remove") }),
  Rename,
  Copy,
  z.strictObject({
    op: z.literal("text"),
    path: pointer("write"),
    how: z.enum(TEXT_EDITS),
    value: z.string().max(2_000).optional(),
    with: z.string().max(2_000).optional(),
  }),
  z.strictObject({ op: z.literal("append"), ...written }),
  z.strictObject({ op: z.literal("prepend"), ...written }),
  z.strictObject({ op: z.literal("cap"), ...Limit.shape }),
  z.strictObject({ op: z.literal("floor"), ...Limit.shape }),
  /** A system prompt in the upstream's own place for it: where there is none, or before the one that is there. */
  z.strictObject({
    op: z.literal("system"),
    text: z.string().min(1, "请填写系统提示").max(8_000, "系统提示过长"),
    before: z.boolean().optional(),
  }),
  z.strictObject({
    op: z.literal("refuse"),
    status: z.union([z.literal(400), z.literal(403), z.literal(422)]),
    code: z.string().regex(/^[a-z][a-z0-9_]{0,60}$/, "错误码只能含小写字母、数字和下划线"),
    message: z.string().min(1, "请填写错误信息").max(300),
  }),
  SetHeader,
  z.strictObject({ op: z.literal("removeHeader"), name: NotCredential }),
  z.strictObject({ op: z.literal("passHeader"), name: Handed }),
]);
export type RewriteAction = z.output<typeof RewriteAction>;

const Glob = z.string().min(1).max(200);
const Pointers = z.array(pointer("read")).max(20);
const Scalar = z.union([z.string().max(1_000), z.number(), z.boolean(), z.null()]);

const CONDITIONS = {
  /** Of the requested or the upstream's name; `*` stands for anything. */
  models: z.array(Glob).max(50).optional(),
  formats: z.array(z.enum(REWRITE_FORMATS)).optional(),
  stream: z.boolean().optional(),
  has: Pointers.optional(),
  lacks: Pointers.optional(),
  equals: z.record(pointer("read"), Scalar).optional(),
  /** Texts that are like a pattern, where `*` stands for anything. */
  like: z.record(pointer("read"), Glob).optional(),
  /** Of the client's headers; a value may have `*`. */
  header: z.record(z.string().regex(TOKEN), Glob).optional(),
  /** The first call of a request, or a later one. */
  attempt: z.enum(["first", "retry"]).optional(),
};
export const RewriteWhen = z.strictObject({
  ...CONDITIONS,
  any: z.array(z.strictObject(CONDITIONS)).min(1).max(20).optional(),
});
export type RewriteWhen = z.output<typeof RewriteWhen>;

export const RewriteRule = z.strictObject({
  id: z
    .string()
    .regex(/^[\w\u4e00-\u9fff .-]{1,40}$/, "规则名称最多 40 个字符，只能含文字、数字、空格、点和连字符"),
  when: RewriteWhen.optional(),
  do: z.array(RewriteAction).min(1, "规则至少要有一个操作").max(50),
});
export type RewriteRule = z.output<typeof RewriteRule>;

/** Of UTF-8; the contract has neither the server's tools for that nor the browser's. */
function byteLength(text: string): number {
  return encodeURIComponent(text.toWellFormed()).replace(/%../g, "-").length;
}

/** Stored in a channel's config as `rewrite`. */
export const Rewrite = z
  .strictObject({
    v: z.literal(1),
    rules: z.array(RewriteRule).max(MOST_RULES, `最多 ${MOST_RULES} 条规则`),
  })
  .superRefine((value, { addIssue }) => {
    if (byteLength(JSON.stringify(value)) > MOST_BYTES) addIssue(`全部规则最多 ${MOST_BYTES / 1024} KiB`);
    const ids = value.rules.map(({ id }) => id);
    const twice = ids.find((id, index) => ids.indexOf(id) !== index);
    if (twice !== undefined) addIssue(`规则名称“${twice}”出现了不止一次`);
  });
export type Rewrite = z.output<typeof Rewrite>;

/** Upstream's error status → the status that the client is told (requirements C38); stored in a channel's config as `status_map`. */
export const StatusMap = z.record(
  z.string().regex(/^[45]\d\d$/, "状态码映射只能从 400 到 599"),
  z.int().min(400, "状态码映射只能到 400 至 599").max(599, "状态码映射只能到 400 至 599"),
);
export type StatusMap = z.output<typeof StatusMap>;

export interface ChannelRules {
  readonly rewrite?: Rewrite | undefined;
  readonly statusMap?: StatusMap | undefined;
}

/** The rules in the text of a channel's config. Returns a sentence about the first that is wrong. */
export function rulesIn(config: string): ChannelRules | { readonly refusal: string } {
  if (!config.includes('"rewrite"') && !config.includes('"status_map"')) return {};
  let parsed: unknown;
  try {
    parsed = JSON.parse(config);
  } catch {
    return {};
  }
  const shape = z.object({ rewrite: Rewrite.optional(), status_map: StatusMap.optional() }).safeParse(parsed);
  if (shape.success) return { rewrite: shape.data.rewrite, statusMap: shape.data.status_map };
  const [issue] = shape.error.issues;
  return { refusal: `请求改写有误（${placeOf(issue?.path ?? [])}）：${issue?.message ?? ""}` };
}

/** Where in the rules something is wrong, in words. */
export function placeOf(path: readonly PropertyKey[]): string {
  const [, , rule, part, action] = path;
  if (path[0] === "status_map") return "状态码映射";
  if (typeof rule !== "number") return "规则";
  const where =
    part === "do" && typeof action === "number" ? `第 ${action + 1} 个操作` : part === "when" ? "条件" : "";
  return `第 ${rule + 1} 条规则${where}`;
}
