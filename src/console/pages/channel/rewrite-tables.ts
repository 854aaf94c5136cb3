// What the editor of a channel's rules offers: each operation and each condition of the contract with its fields. One that the contract
// has and a table has not is an error of types. Pure.
import {
  REWRITE_FORMATS,
  type RewriteAction,
  type RewriteFormat,
  type RewriteWhen,
  TEXT_EDITS,
} from "#contract/rewrite.ts";

/** How a member of a rule is filled in; `json` is any value by its type, `choice` one of a few. */
export type FieldKind = "path" | "header" | "text" | "area" | "number" | "json" | "flag" | "choice" | "list";

export interface Choice {
  readonly value: string | number | boolean;
  readonly label: string;
}

export interface RuleField {
  readonly kind: FieldKind;
  readonly label: string;
  readonly placeholder?: string;
  /** Of `choice`, and of `list` where nothing else can be typed. */
  readonly choices?: readonly Choice[];
  /** Values of the operation's other choice that it is for; absent = it always is. */
  readonly only?: readonly unknown[];
}

const path: RuleField = { kind: "path", label: "路径", placeholder: "/temperature" };
const to: RuleField = { kind: "path", label: "新路径", placeholder: "/max_completion_tokens" };
const header: RuleField = { kind: "header", label: "请求头名称", placeholder: "X-Request-Id" };
const value: RuleField = { kind: "json", label: "值" };
const limit: RuleField = { kind: "number", label: "数值" };

type TextEdit = (typeof TEXT_EDITS)[number];

/** What a text is changed with, besides how; absent = with nothing. */
const EDITS: Readonly<Record<TextEdit, { readonly label: string; readonly isPlain?: boolean }>> = {
  trimPrefix: { label: "去掉前缀" },
  trimSuffix: { label: "去掉后缀" },
  ensurePrefix: { label: "确保前缀" },
  ensureSuffix: { label: "确保后缀" },
  trimSpace: { label: "去掉首尾空白", isPlain: true },
  toLower: { label: "转为小写", isPlain: true },
  toUpper: { label: "转为大写", isPlain: true },
  replace: { label: "替换" },
};

/** What an operation changes. */
export const TARGETS = { body: "请求体", headers: "请求头", call: "整个请求" } as const;

type Op = RewriteAction["op"];
type FieldsOf<Action> = { readonly [Member in keyof Omit<Action, "op">]-?: RuleField };

export interface Operation {
  readonly label: string;
  readonly target: keyof typeof TARGETS;
  readonly fields: Readonly<Record<string, RuleField>>;
}

export const OPERATIONS: {
  readonly [Name in Op]: Operation & { readonly fields: FieldsOf<Extract<RewriteAction, { op: Name }>> };
} = {
  set: { label: "设置字段", target: "body", fields: { path, value } },
  default: { label: "缺少时设置", target: "body", fields: { path, value } },
  remove: { label: "删除字段", target: "body", fields: { path } },
  rename: { label: "字段改名", target: "body", fields: { path, to } },
  copy: { label: "复制字段", target: "body", fields: { path, to } },
  text: {
    label: "修改文本",
    target: "body",
    fields: {
      path,
      how: {
        kind: "choice",
        label: "方式",
        choices: TEXT_EDITS.map((edit) => ({ value: edit, label: EDITS[edit].label })),
      },
      value: {
        kind: "text",
        label: "文本",
        only: TEXT_EDITS.filter((edit) => EDITS[edit].isPlain !== true),
      },
      with: { kind: "text", label: "替换为", only: ["replace"] },
    },
  },
  append: { label: "追加到末尾", target: "body", fields: { path, value } },
  prepend: { label: "插入到开头", target: "body", fields: { path, value } },
  cap: { label: "不超过", target: "body", fields: { path, value: limit } },
  floor: { label: "不低于", target: "body", fields: { path, value: limit } },
  system: {
    label: "系统提示",
    target: "body",
    fields: {
      text: { kind: "area", label: "系统提示" },
      before: { kind: "flag", label: "已有系统提示时，放在它的前面" },
    },
  },
  setHeader: {
    label: "设置请求头",
    target: "headers",
    fields: {
      name: header,
      value: { kind: "text", label: "值", placeholder: "{{request_id}}" },
    },
  },
  removeHeader: { label: "删除请求头", target: "headers", fields: { name: header } },
  passHeader: { label: "转发客户端的请求头", target: "headers", fields: { name: header } },
  refuse: {
    label: "拒绝请求",
    target: "call",
    fields: {
      status: {
        kind: "choice",
        label: "状态码",
        choices: [400, 403, 422].map((status) => ({ value: status, label: String(status) })),
      },
      code: { kind: "text", label: "错误码", placeholder: "image_not_supported" },
      message: { kind: "text", label: "错误信息" },
    },
  },
};

const FORMATS: Readonly<Record<RewriteFormat, string>> = {
  chat: "Chat",
  completions: "Completions",
  messages: "Messages",
  responses: "Responses",
  generate: "Gemini",
  embeddings: "Embeddings",
  rerank: "Rerank",
  moderation: "内容审核",
  images: "生成图片",
  speech: "语音合成",
  videos: "视频",
  realtime: "实时会话",
  models: "模型列表",
  "image-edits": "编辑图片",
  "image-variations": "图片变体",
  transcription: "语音转文字",
  translation: "语音翻译",
  batches: "批处理和文件",
  balance: "余额",
};

export function formatName(format: RewriteFormat): string {
  return FORMATS[format];
}

/** `one` has one value, `list` a line for each place, `record` a line for each name with its value. */
export type Condition = { readonly label: string } & (
  | { readonly shape: "one"; readonly value: RuleField }
  | { readonly shape: "list"; readonly name: RuleField }
  | { readonly shape: "record"; readonly name: RuleField; readonly value: RuleField }
);

const pattern: RuleField = { kind: "text", label: "模式", placeholder: "gpt-*" };

export const CONDITIONS: { readonly [Is in keyof Omit<RewriteWhen, "any">]-?: Condition } = {
  models: {
    label: "模型",
    shape: "one",
    value: { kind: "list", label: "模型", placeholder: "gpt-5*，回车添加" },
  },
  formats: {
    label: "格式",
    shape: "one",
    value: {
      kind: "list",
      label: "格式",
      choices: REWRITE_FORMATS.map((format) => ({ value: format, label: FORMATS[format] })),
    },
  },
  stream: {
    label: "流式",
    shape: "one",
    value: {
      kind: "choice",
      label: "流式",
      choices: [
        { value: true, label: "流式请求" },
        { value: false, label: "非流式请求" },
      ],
    },
  },
  has: { label: "有字段", shape: "list", name: path },
  lacks: { label: "没有字段", shape: "list", name: path },
  equals: { label: "字段等于", shape: "record", name: path, value },
  like: { label: "字段匹配", shape: "record", name: path, value: pattern },
  header: {
    label: "客户端请求头匹配",
    shape: "record",
    name: header,
    value: { ...pattern, placeholder: "codex*" },
  },
  attempt: {
    label: "第几次调用",
    shape: "one",
    value: {
      kind: "choice",
      label: "第几次调用",
      choices: [
        { value: "first", label: "首次调用" },
        { value: "retry", label: "重试" },
      ],
    },
  },
};

export function operationOf(op: string): Operation | undefined {
  return Object.hasOwn(OPERATIONS, op) ? OPERATIONS[op as Op] : undefined; // is one of its names
}

export function conditionOf(is: string): Condition | undefined {
  return Object.hasOwn(CONDITIONS, is) ? CONDITIONS[is as keyof typeof CONDITIONS] : undefined; // is one of its names
}
