// Upstream channels (渠道). The key is write-only: "" in every answer (requirements W3.6, K04).
import { z } from "zod";
import { KeyMode } from "./channel-key.ts";
import { ChannelLimits, ChannelTimes, NO_CHANNEL_LIMITS, StoredTimes } from "./channel-limits.ts";
import { CostRatio, CostSheetText } from "./cost-sheet.ts";
import { endpoint } from "./endpoint.ts";
import { repeatedName } from "./json-names.ts";
import { ModelObject } from "./model-object.ts";
import { PREVIEW_FORMATS, Rewrite } from "./rewrite.ts";
import {
  Csv,
  IdParams,
  InBlocks,
  isMapping,
  ListBeside,
  ListQuery,
  lenient,
  Nothing,
  query,
  rowsOf,
  SearchQuery,
} from "./wire.ts";

export const ChannelStatus = { unknown: 0, enabled: 1, disabled: 2, autoDisabled: 3 } as const;

const Name = z.string().trim().min(1, "请填写渠道名称和渠道密钥").max(100, "名称最多 100 个字符");
const Models = Csv.refine((list) => list.length > 0, "请至少选择一个模型");
const Groups = Csv.refine((list) => list.length > 0, "请至少选择一个分组");
/** JSON object text, requested name → upstream name, each name once; "" = none. */
const ModelMapping = z
  .string()
  .max(65_536)
  .superRefine((text, { addIssue }) => {
    if (!isMapping(text)) return addIssue("模型映射必须是合法的 JSON 格式");
    const repeated = repeatedName(text);
    if (repeated !== undefined) addIssue(`模型映射里“${repeated}”出现了不止一次`);
  });
/** Trailing slashes are cut off (requirements B5). "" = the default of the type. */
const BaseUrl = z
  .string()
  .trim()
  .max(500)
  .refine(
    (text) => text === "" || /^(https?|wss?):\/\/[^\s@]+$/.test(text),
    "Base URL 须以 http:// 或 https:// 开头",
  );
/**
 * The outbound proxy: "" = as all channels, `direct`, or `type://user:password@host:port`. Without credentials the stored ones of the same
 * address stay; `type://@host:port` drops them (requirements C08, C17).
 */
const ProxyAddress = z.string().trim().max(1_000, "代理地址过长");
/** `never`: each call gets a connection of its own. */
const Reuse = z.enum(["auto", "never"]);
const Weight = z.int().min(0).max(1_000_000);
const Priority = z.int().min(-1_000_000_000).max(1_000_000_000);

export const Channel = z.object({
  id: z.int(),
  type: z.int(),
  /** Always "" in answers. */
  key: z.string(),
  status: z.int(),
  name: z.string(),
  weight: lenient(z.int(), 0),
  created_time: z.int(),
  test_time: z.int(),
  /** Milliseconds; 0 = untested. */
  response_time: z.int(),
  base_url: lenient(z.string(), ""),
  other: lenient(z.string(), ""),
  balance: z.number(),
  balance_updated_time: z.int(),
  models: Csv,
  group: Csv,
  used_quota: lenient(z.int(), 0),
  model_mapping: lenient(z.string(), ""),
  priority: lenient(z.int(), 0),
  config: lenient(z.string(), ""),
  /** Why and when the status last changed by itself; "" and 0 otherwise. Our addition. */
  status_reason: z.string().default(""),
  status_time: z.int().default(0),
  /** Without credentials; whether it has some, and whether it rests after failures. Our addition, like the next two. */
  proxy: z.string().default(""),
  proxy_login: z.boolean().default(false),
  proxy_resting: z.boolean().default(false),
  reuse: Reuse.default("auto").catch("auto"),
  /** Its upstream sent what no request asked for: for a while each call gets a connection of its own. */
  reuse_stopped: z.boolean().default(false),
  /** It has several keys; how one of them is chosen. */
  has_keys: z.boolean().default(false),
  key_mode: KeyMode.default("random").catch("random"),
  limits: ChannelLimits.default(NO_CHANNEL_LIMITS),
  ...StoredTimes.shape,
  /** What it costs, as a multiple of the prices of its models. */
  cost_ratio: z.number().default(1),
  /** JSON of its own prices, see cost-sheet.ts; "" = none. */
  cost_sheet: z.string().default(""),
  /** When a channel that was disabled by itself is asked again, seconds; 0 = it is not. */
  probe_time: z.int().default(0),
  /** How many models its upstream has got anew, and how many of the channel's it does not list; whether its last list was not taken. */
  models_fresh: z.int().default(0),
  models_gone: z.int().default(0),
  models_problem: z.boolean().default(false),
});
export type Channel = z.output<typeof Channel>;

export const ChannelDraft = z.object({
  type: z.int().min(1),
  name: Name,
  /** One key per line makes one channel per line (requirements B5). */
  key: z.string().max(1_000_000).default(""),
  base_url: BaseUrl.nullish(),
  other: z.string().trim().max(1_000).nullish(),
  models: Models,
  group: Groups,
  model_mapping: ModelMapping.nullish(),
  priority: Priority.nullish(),
  weight: Weight.nullish(),
  config: z.string().max(65_536).nullish(),
  proxy: ProxyAddress.nullish(),
  reuse: Reuse.optional(),
  key_mode: KeyMode.optional(),
  limits: ChannelLimits.partial().optional(),
  ...ChannelTimes.shape,
  cost_ratio: CostRatio.optional(),
  cost_sheet: CostSheetText.optional(),
  status: z.int().min(1).max(2).optional(),
});
export type ChannelDraft = z.output<typeof ChannelDraft>;

/** `id` and any subset; every field present is applied, an empty key keeps the stored one. */
export const ChannelUpdate = ChannelDraft.partial().extend({
  id: z.int().min(1),
  status: z.int().min(1).max(3).optional(),
});
export type ChannelUpdate = z.output<typeof ChannelUpdate>;

/** Whose models are asked for: a stored channel by its id, or one that is being written. */
export const ModelSource = z.object({
  /** Stored channel, as it is stored; used when no key is given. */
  id: z.int().min(1).optional(),
  type: z.int().min(1),
  key: z.string().max(65_536).default(""),
  base_url: BaseUrl.nullish(),
  other: z.string().trim().max(1_000).nullish(),
  /** As in a draft; with `id` the stored credentials of the same address are used. */
  proxy: ProxyAddress.nullish(),
  /** What is written of its config so far; a stored channel has its own. */
  rewrite: Rewrite.nullish(),
});

/** A request to be shown as a channel would send it. */
const RewritePreviewDraft = ModelSource.extend({
  model_mapping: ModelMapping.nullish(),
  /** As a config holds them; they need not be stored yet. */
  rewrite: Rewrite,
  /** Of `realtime` the body is a message of the client, such as `session.update`; `models` has none. */
  format: z.enum(PREVIEW_FORMATS),
  /** What a client sends: JSON. */
  body: z.string().max(200_000, "示例请求过长"),
  /** The client's headers. */
  headers: z.record(z.string().max(100), z.string().max(2_000)).optional(),
});

export const RewritePreview = z.object({
  /**
   * How far rules reach: into a `request` with all they do; into the `opening` of a conversation with headers and refusals, and of its
   * messages into settings of the session with what names a place there (`/session/…`); into a call of `control` with headers alone.
   */
  reach: z.enum(["request", "opening", "control"]),
  method: z.enum(["GET", "POST"]),
  url: z.string(),
  headers: z.array(z.object({ name: z.string(), value: z.string() })),
  /** What would be sent without rules, and with them; "" = it is no JSON. */
  before: z.string(),
  after: z.string(),
  /** The rules that applied, by their names. */
  fired: z.array(z.string()),
  /** What a rule refused the request with; "" = none did. */
  refused: z.string(),
  /** The credential is made when the request is signed, so that it is not among the headers. */
  signed_late: z.boolean(),
  /** Rules that raise what is set aside: to so many tokens of output; 0 = none does. */
  raises_to: z.int(),
});
export type RewritePreview = z.output<typeof RewritePreview>;

/** Which channels a run tests; absent or empty = all, anything else is refused (requirements W3.6). */
const TestScope = z.codec(z.enum(["", "all", "disabled"]).optional(), z.enum(["all", "disabled"]), {
  decode: (text) => text || "all",
  encode: (scope) => scope,
});

/** A model that calls are refused for (requirements W10.8), and the names of the channels that have it. */
export const UnpricedModel = z.object({ model: z.string(), channels: z.array(z.string()) });
export type UnpricedModel = z.output<typeof UnpricedModel>;

/** `testing`: a test of all or all disabled channels goes on. Our addition. */
const ChannelsBeside = ListBeside.extend({ testing: z.boolean().optional() });

/** Which channels are listed: one that serves a group or offers a model; "" and 0 = all. */
const OfChannels = {
  status: query.count,
  type: query.count,
  group: query.text,
  model: query.text,
  ...InBlocks,
};

export const channelApi = {
  list: endpoint({
    method: "GET",
    path: "/api/channel/",
    level: "admin",
    permission: "channel.read",
    summary: "渠道列表（不含密钥），可按状态、类型、分组与模型筛选；export 时成批返回，用于导出",
    query: ListQuery.extend(OfChannels),
    data: rowsOf(Channel),
    beside: ChannelsBeside,
  }),
  search: endpoint({
    method: "GET",
    path: "/api/channel/search",
    level: "admin",
    permission: "channel.read",
    summary: "按 ID、名称前缀或完整密钥搜索渠道，筛选同上",
    query: SearchQuery.extend(OfChannels),
    data: rowsOf(Channel),
    beside: ChannelsBeside,
  }),
  models: endpoint({
    method: "GET",
    path: "/api/channel/models",
    level: "admin",
    permission: "channel.read",
    summary: "所有内置模型，OpenAI 列表格式",
    data: rowsOf(ModelObject),
    beside: z.object({ object: z.literal("list") }),
  }),
  unpriced: endpoint({
    method: "GET",
    path: "/api/channel/unpriced",
    level: "admin",
    permission: "channel.read",
    summary: "未手动禁用的渠道里没有价格的模型，调用它们会被拒绝；设置了未知模型的倍率时为空",
    data: z.array(UnpricedModel),
  }),
  test: endpoint({
    method: "GET",
    path: "/api/channel/test/:id",
    level: "admin",
    permission: "channel.test",
    mutates: true,
    summary: "测试一个渠道；time 为用时（秒），message 为模型的回答",
    params: IdParams,
    query: z.object({ model: query.text }),
    data: Nothing,
    beside: z.object({ message: z.string(), time: z.number(), modelName: z.string().optional() }),
  }),
  testAll: endpoint({
    method: "GET",
    path: "/api/channel/test",
    level: "admin",
    permission: "channel.test",
    mutates: true,
    summary: "在后台依次测试全部（all，默认）或已禁用（disabled）的渠道，立即返回",
    query: z.object({ scope: TestScope }),
    data: Nothing,
  }),
  updateBalance: endpoint({
    method: "GET",
    path: "/api/channel/update_balance/:id",
    level: "admin",
    permission: "channel.test",
    mutates: true,
    summary: "查询并保存一个渠道的余额；单位由渠道类型决定",
    params: IdParams,
    data: Nothing,
    beside: z.object({ balance: z.number() }),
  }),
  updateAllBalances: endpoint({
    method: "GET",
    path: "/api/channel/update_balance",
    level: "admin",
    permission: "channel.test",
    mutates: true,
    summary: "在后台更新所有已启用渠道的余额，立即返回",
    data: Nothing,
  }),
  upstreamModels: endpoint({
    method: "POST",
    path: "/api/channel/upstream_models",
    level: "admin",
    permission: "channel.write",
    summary: "向上游查询它提供的模型；未带密钥时使用已保存的渠道（id），此时其余字段不起作用",
    body: ModelSource,
    data: z.array(z.string()),
  }),
  previewRewrite: endpoint({
    method: "POST",
    path: "/api/channel/rewrite/preview",
    level: "admin",
    permission: "channel.write",
    summary: "用示例请求预览请求改写：将要发出的地址、请求头和请求体，密钥以 *** 代替；不发送，不保存",
    body: RewritePreviewDraft,
    data: RewritePreview,
  }),
  get: endpoint({
    method: "GET",
    path: "/api/channel/:id",
    level: "admin",
    permission: "channel.read",
    summary: "一个渠道（不含密钥）",
    params: IdParams,
    data: Channel,
  }),
  create: endpoint({
    method: "POST",
    path: "/api/channel/",
    level: "admin",
    permission: "channel.write",
    stepUp: "guarded",
    summary: "创建渠道；key 每行一个，逐行创建；data 为创建的数量",
    body: ChannelDraft,
    data: lenient(z.int(), 1),
  }),
  copy: endpoint({
    method: "POST",
    path: "/api/channel/copy/:id",
    level: "admin",
    permission: "channel.write",
    stepUp: "guarded",
    summary: "复制渠道，密钥一并复制；副本为禁用状态",
    params: IdParams,
    data: z.object({ id: z.int() }),
  }),
  update: endpoint({
    method: "PUT",
    path: "/api/channel/",
    level: "admin",
    permission: "channel.write",
    stepUp: "guarded",
    summary: "修改渠道的任意字段；空密钥表示不变",
    body: ChannelUpdate,
    data: Channel,
  }),
  removeDisabled: endpoint({
    method: "DELETE",
    path: "/api/channel/disabled",
    level: "admin",
    permission: "channel.delete",
    summary: "删除所有已禁用（手动或自动）的渠道；data 为删除的数量",
    data: z.int(),
  }),
  remove: endpoint({
    method: "DELETE",
    path: "/api/channel/:id",
    level: "admin",
    permission: "channel.delete",
    summary: "删除渠道",
    params: IdParams,
    data: Nothing,
  }),
};
