// What a channel changes in its requests: typed rules on body and headers with conditions (requirements C32, C33, C34, C36). The schema is
// the law: what could change the price, the model, the way of the answer or the credential cannot be written.
import { z } from "zod";
import {
  CREDENTIAL_HEADERS,
  FIXED_HEADERS,
  folded,
  isLength,
  judgeValue,
  lengthRefusal,
  mayAsk,
  mayTell,
  refusalOf,
  segmentsOf,
  TOKEN,
  templateRefusal,
  valueRefusal,
  type Way,
} from "./rewrite-law.ts";

const MOST_RULES = 50;
const MOST_BYTES = 16_384;
const MOST_VALUES = 200;

/** What a request may be shown as before it is sent: what the client called, or what the gateway asks by itself. */
export const PREVIEW_FORMATS = [
  "chat",
  "completions",
  "messages",
  "responses",
  "generate",
  "embeddings",
  "rerank",
  "moderation",
  "images",
  "speech",
  "videos",
  "realtime",
  "models",
] as const;
export type PreviewFormat = (typeof PREVIEW_FORMATS)[number];

/** Formats that a rule may be for. Of those that only stand here the body is a form or none: headers alone are changed. */
export const REWRITE_FORMATS = [
  ...PREVIEW_FORMATS,
  "image-edits",
  "image-variations",
  "transcription",
  "translation",
  "batches",
  "balance",
] as const;
export type RewriteFormat = (typeof REWRITE_FORMATS)[number];

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
  .regex(/^[\t\x20-\x7e]*$/, "请求头的值只能含可见的 ASCII 字符");

const SetHeader = z
  .strictObject({ op: z.literal("setHeader"), name: HeaderName, value: HeaderValue })
  .refine(({ name, value }) => !CREDENTIAL_HEADERS.test(name) || value.includes("{{key}}"), {
    error: "凭证请求头的值须含 {{key}}",
    path: ["value"],
  });
const NotCredential = HeaderName.refine((name) => !CREDENTIAL_HEADERS.test(name), "不能去掉凭证请求头");
const Handed = HeaderName.refine(mayTell, "不能转发这个请求头");
const written = { path: pointer("write"), value: Value };
const Limit = z.object({ path: pointer("write"), value: z.number() });

/** A rename of a limit of length must stay one: the limit is not lost on the way. */
const Rename = z
  .strictObject({ op: z.literal("rename"), path: pointer("read"), to: pointer("write") })
  .superRefine(({ path, to }, { addIssue }) => {
    const [from = [], target = []] = [segmentsOf(path), segmentsOf(to)];
    const isBoth = isLength(from) === isLength(target);
    const refusal = isBoth && isLength(from) ? undefined : refusalOf(from, "rename");
    const refuse = (member: "path" | "to", message: string) =>
      addIssue({ code: "custom", message, path: [member] });
    if (refusal !== undefined) refuse("path", refusal);
    else if (!isBoth) refuse("to", "长度上限只能改名为另一个长度上限");
    if (from.includes("*")) refuse("path", "改名的路径不能含 *");
    else if (target.includes("*")) refuse("to", "改名的路径不能含 *");
  });

const Copy = z
  .strictObject({ op: z.literal("copy"), path: pointer("read"), to: pointer("write") })
  .refine(
    ({ path, to }) => ![path, to].some((text) => text.includes("*") || isLength(segmentsOf(text) ?? [])),
    { error: "复制的路径不能含 *，也不能是长度上限", path: ["to"] },
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

/** Whether an upstream keeps a response is decided elsewhere; a body with messages is none of Responses. */
function takesStoreOut(action: RewriteAction): boolean {
  return action.op === "remove" && segmentsOf(action.path)?.map(folded).join("/") === "store";
}

/**
 * Why an action cannot be saved, at which of its members; undefined = it can. A stored one that has this is no reason to end its channel: when
 * rules run, no such template is filled in, and no such limit asks for more (requirements C35, C36).
 */
function unsavable(
  action: RewriteAction,
): { readonly member: string; readonly message: string | undefined } | undefined {
  switch (action.op) {
    case "system":
      return { member: "text", message: templateRefusal(action.text, false) };
    case "refuse":
      return { member: "message", message: templateRefusal(action.message, false) };
    case "setHeader":
      return { member: "value", message: templateRefusal(action.value, true) };
    case "remove":
    case "rename":
    case "copy":
    case "removeHeader":
    case "passHeader":
      return undefined;
    default: {
      const { op, path, value } = action;
      const message = lengthRefusal(segmentsOf(path) ?? [], op, value);
      if (message !== undefined) return { member: op === "text" ? "path" : "value", message };
      return { member: "value", message: op === "text" ? undefined : valueRefusal(value) };
    }
  }
}

/** The places of headers in a condition that it may not ask about. A stored one that does never applies. */
function unasked({
  header = {},
  any = [],
}: RewriteWhen): { readonly name: string; readonly path: (string | number)[] }[] {
  const own = Object.keys(header).map((name) => ({ name, path: ["header", name] }));
  const others = any.flatMap((one, at) =>
    Object.keys(one.header ?? {}).map((name) => ({ name, path: ["any", at, "header", name] })),
  );
  return [...own, ...others].filter(({ name }) => !mayAsk(name));
}

const StoredRule = z
  .strictObject({
    id: z
      .string()
      .regex(/^[\w\u4e00-\u9fff .-]{1,40}$/, "规则名称最多 40 个字符，只能含文字、数字、空格、点和连字符"),
    when: RewriteWhen.optional(),
    do: z.array(RewriteAction).min(1, "规则至少要有一个操作").max(50),
  })
  .refine((rule) => !rule.do.some(takesStoreOut) || rule.when?.has?.includes("/messages") === true, {
    error: "只有条件要求存在 /messages 的规则才能删除 store",
    path: ["do"],
  });
export const RewriteRule = StoredRule.superRefine((rule, { addIssue }) => {
  for (const { name, path } of unasked(rule.when ?? {}))
    addIssue({ code: "custom", message: `不能使用请求头 ${name}`, path: ["when", ...path] });
  for (const [at, action] of rule.do.entries()) {
    const { member, message } = unsavable(action) ?? {};
    if (member !== undefined && message !== undefined)
      addIssue({ code: "custom", message, path: ["do", at, member] });
  }
});
export type RewriteRule = z.output<typeof RewriteRule>;

/** Of UTF-8; the contract has neither the server's tools for that nor the browser's. */
function byteLength(text: string): number {
  return encodeURIComponent(text.toWellFormed()).replace(/%../g, "-").length;
}

function rulesOf<Rule extends typeof StoredRule>(rule: Rule) {
  return z
    .strictObject({ v: z.literal(1), rules: z.array(rule).max(MOST_RULES, `最多 ${MOST_RULES} 条规则`) })
    .superRefine((value, { addIssue }) => {
      if (byteLength(JSON.stringify(value)) > MOST_BYTES) addIssue(`全部规则最多 ${MOST_BYTES / 1024} KiB`);
      const ids = value.rules.map(({ id }) => id);
      const twice = ids.findIndex((id, index) => ids.indexOf(id) !== index);
      if (twice >= 0)
        addIssue({
          code: "custom",
          message: `规则名称“${ids[twice]}”出现了不止一次`,
          path: ["rules", twice, "id"],
        });
    });
}

/** Stored in a channel's config as `rewrite`. */
export const Rewrite = rulesOf(RewriteRule);
export type Rewrite = z.output<typeof Rewrite>;
/** The same with what is refused only when it is saved. */
const StoredRewrite = rulesOf(StoredRule);

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

/** The rules in the text of a channel's config, which is to be saved, or was. Returns a sentence about the first that is wrong. */
export function rulesIn(
  config: string,
  { isStored = false } = {},
): ChannelRules | { readonly refusal: string } {
  if (!config.includes('"rewrite"') && !config.includes('"status_map"')) return {};
  let parsed: unknown;
  try {
    parsed = JSON.parse(config);
  } catch {
    return {};
  }
  const rewrite = (isStored ? StoredRewrite : Rewrite).optional();
  const shape = z.object({ rewrite, status_map: StatusMap.optional() }).safeParse(parsed);
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
