// The keys of channels that have several. A key goes in and never comes out: answers name it by a part of its hash (requirements C29).
import { z } from "zod";
import {
  CHANNEL_TIMES,
  ChannelLimits,
  ChannelTimes,
  NO_CHANNEL_LIMITS,
  StoredTimes,
} from "./channel-limits.ts";
import { endpoint } from "./endpoint.ts";
import { Csv, IdParams, ListBeside, ListQuery, Nothing, query, rowsOf } from "./wire.ts";

/** How one of several keys is chosen; calls of one conversation keep their key, except by `first`. */
export const KEY_MODES = ["random", "round_robin", "weighted", "least_used", "first"] as const;
export const KeyMode = z.enum(KEY_MODES);

/** Keys of one channel. */
export const MOST_KEYS = 10_000;

const MOST_BYTES = 4_000_000;
const Name = z.string().trim().max(100, "名称最多 100 个字符");
const KeyWeight = z.int().min(0).max(1_000_000);
const Ids = z.array(z.int().min(1)).max(MOST_KEYS, "一次最多 10000 个密钥");

export const ChannelKey = z.object({
  id: z.int(),
  /** 8 hexadecimal digits of its keyed hash. */
  fingerprint: z.string(),
  /** Its last four characters, as its provider's own list shows them; "" = it is short or a document. */
  tail: z.string().default(""),
  name: z.string(),
  status: z.int(),
  status_reason: z.string(),
  status_time: z.int(),
  weight: z.int(),
  models: Csv,
  /** Without credentials; "" = as the channel. */
  proxy: z.string(),
  proxy_login: z.boolean(),
  test_time: z.int(),
  /** Milliseconds; 0 = untested. */
  response_time: z.int(),
  /** What its provider says is left, in which currency ("" = it does not say), and when it said so, seconds; 0 = it has not. */
  balance: z.number().default(0),
  balance_currency: z.string().default(""),
  balance_updated_time: z.int().default(0),
  /** When a key that was disabled by itself is asked again, seconds; 0 = it is not. */
  probe_time: z.int(),
  created_time: z.int(),
  /** Beside those of the channel. */
  limits: ChannelLimits.default(NO_CHANNEL_LIMITS),
  /** In place of the channel's. */
  ...StoredTimes.shape,
  /** What calls with it cost, from the log, and the hour of the last one (seconds; 0 = none). */
  used_quota: z.int(),
  last_used: z.int(),
  /** In this process: calls without an answer so far, and until when it rests (seconds; 0 = it does not). */
  in_flight: z.int(),
  rests_until: z.int(),
});
export type ChannelKey = z.output<typeof ChannelKey>;

/** What a text with keys holds. */
export const KeyPreview = z.object({
  /** Added, or to be added. */
  fresh: z.int(),
  /** Keys that this channel has already, and those that stand in the text twice. */
  known: z.int(),
  repeated: z.int(),
  /** New here, but another channel has them: ids of some such channels. */
  elsewhere: z.int(),
  elsewhere_channels: z.array(z.int()),
  /** Lines that are no key of this type, by their number, and why. At most 20 of them. */
  malformed: z.int(),
  malformed_lines: z.array(z.object({ line: z.int(), reason: z.string() })),
});
export type KeyPreview = z.output<typeof KeyPreview>;

/** How many keys are off for the same reason. */
export const KeyReason = z.object({ status: z.int(), reason: z.string(), count: z.int() });
export type KeyReason = z.output<typeof KeyReason>;

/** A key as it leaves in an export. */
const OpenKey = z.object({
  id: z.int(),
  key: z.string(),
  name: z.string(),
  status: z.int(),
  weight: z.int(),
  ...StoredTimes.shape,
});

/** The columns that a CSV of keys may have behind `key`, in any order, as the export writes them; `proxy` only goes in. */
export const KEY_CSV_COLUMNS = ["name", "weight", "proxy", ...CHANNEL_TIMES] as const;

const KeyText = z.object({
  /** Lines, a JSON list, or CSV whose heading is `key` and some of `KEY_CSV_COLUMNS`. */
  text: z.string().min(1, "请填写密钥").max(MOST_BYTES, "一次最多 4 MB"),
});

export const channelKeyApi = {
  list: endpoint({
    method: "GET",
    path: "/api/channel/:id/keys",
    level: "admin",
    permission: "channel.read",
    summary: "多密钥渠道的密钥（不含密钥本身），按编号或所选的列排列；只有一个密钥的渠道为空",
    params: IdParams,
    query: ListQuery.extend({ status: query.count, keyword: query.text }),
    data: rowsOf(ChannelKey),
    beside: ListBeside.extend({
      enabled: z.int(),
      disabled: z.int(),
      auto_disabled: z.int(),
      /** Why keys are off, the most frequent reasons first. */
      reasons: z.array(KeyReason),
      /** A test of many of them goes on. */
      testing: z.boolean(),
      /** The balances of all of them are being asked for. */
      asking: z.boolean().default(false),
    }),
  }),
  preview: endpoint({
    method: "POST",
    path: "/api/channel/:id/keys/preview",
    level: "admin",
    permission: "channel.write",
    summary: "检查要添加的密钥：新的、已有的、其他渠道已有的、格式有误的；不保存",
    params: IdParams,
    body: KeyText,
    data: KeyPreview,
  }),
  add: endpoint({
    method: "POST",
    path: "/api/channel/:id/keys",
    level: "admin",
    permission: "channel.write",
    stepUp: "guarded",
    summary: "添加密钥：每行一个、JSON 数组或带表头的 CSV；已有的和格式有误的跳过",
    params: IdParams,
    body: KeyText,
    data: KeyPreview,
  }),
  update: endpoint({
    method: "PUT",
    path: "/api/channel/:id/keys",
    level: "admin",
    permission: "channel.write",
    stepUp: "guarded",
    summary: "启用、禁用或修改密钥；data 为修改的数量",
    params: IdParams,
    body: z.object({
      ids: Ids.min(1, "请选择密钥"),
      status: z.int().min(1).max(2).optional(),
      name: Name.optional(),
      weight: KeyWeight.optional(),
      /** Empty = all of the channel's. */
      models: Csv.optional(),
      /** As a channel's; "" = as the channel. */
      proxy: z.string().trim().max(1_000, "代理地址过长").optional(),
      /** Of each of them, beside those of the channel. */
      limits: ChannelLimits.partial().optional(),
      ...ChannelTimes.shape,
    }),
    data: z.int(),
  }),
  remove: endpoint({
    method: "POST",
    path: "/api/channel/:id/keys/delete",
    level: "admin",
    permission: "channel.delete",
    stepUp: "guarded",
    summary: "删除密钥：按编号，或按状态（2 手动禁用，3 自动禁用）与原因；至少保留一个；data 为删除的数量",
    params: IdParams,
    body: z.object({
      ids: Ids.optional(),
      status: z.int().min(2).max(3).optional(),
      reason: z.string().max(300).optional(),
    }),
    data: z.int(),
  }),
  test: endpoint({
    method: "POST",
    path: "/api/channel/:id/keys/test",
    level: "admin",
    permission: "channel.test",
    summary: "用一个密钥测试渠道，禁用的也可以；time 为用时（秒），message 为模型的回答",
    params: IdParams,
    body: z.object({ key_id: z.int().min(1) }),
    data: Nothing,
    beside: z.object({ message: z.string(), time: z.number() }),
  }),
  testAll: endpoint({
    method: "POST",
    path: "/api/channel/:id/keys/test_all",
    level: "admin",
    permission: "channel.test",
    summary:
      "在后台测试全部（all）或已禁用（disabled）的密钥，立即返回；失效的自动禁用，被自动禁用而可用的恢复",
    params: IdParams,
    body: z.object({ scope: z.enum(["all", "disabled"]) }),
    data: Nothing,
  }),
  updateBalance: endpoint({
    method: "POST",
    path: "/api/channel/:id/keys/balance",
    level: "admin",
    permission: "channel.test",
    summary: "查询并保存一个密钥的余额，禁用的也可以；渠道的余额为已启用密钥之和",
    params: IdParams,
    body: z.object({ key_id: z.int().min(1) }),
    data: Nothing,
    beside: z.object({ balance: z.number(), currency: z.string() }),
  }),
  updateBalances: endpoint({
    method: "POST",
    path: "/api/channel/:id/keys/balance_all",
    level: "admin",
    permission: "channel.test",
    summary: "在后台查询全部已启用密钥的余额，每次最多同时查询 8 个，立即返回",
    params: IdParams,
    data: Nothing,
  }),
  export: endpoint({
    method: "POST",
    path: "/api/channel/:id/keys/export",
    level: "root",
    permission: "channel.reveal",
    stepUp: "guarded",
    summary: "导出渠道的全部密钥原文；须先打开选项 ChannelKeyExportEnabled，写入审计日志",
    params: IdParams,
    data: z.array(OpenKey),
  }),
};
