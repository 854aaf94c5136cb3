// The errors that the relay itself causes: one sentence each, in the family's statuses and codes (requirements W8.3, W8.5).
import { localFault, type RelayFault } from "#server/upstream/errors/fault.ts";

/** Ends a request with a fault; only the error format reads it. */
export class LocalError extends Error {
  override readonly name = "LocalError";
  readonly fault: RelayFault;

  constructor(fault: RelayFault, cause?: unknown) {
    super(fault.publicMessage, { cause });
    this.fault = fault;
  }
}

/** No channel of a group is left for a call: another group may have one. */
export class Exhausted extends LocalError {}

/** The codes of a lack of quota, the payer's or the key's. */
const LACKS = {
  payer: "insufficient_user_quota",
  key: "pre_consume_token_quota_failed",
  usedUpKey: "exhausted_key",
} as const;
const LACK_CODES: ReadonlySet<unknown> = new Set(Object.values(LACKS));

/** Whether the payer, or the key, had too little. */
export function isLack({ code }: Pick<RelayFault, "code">): boolean {
  return LACK_CODES.has(code);
}

/** The code of a call that all channels are too full for. */
export const CHANNELS_FULL = "channel_limit_exceeded";

const invalid = (message: string, param: string | null = null) =>
  localFault(400, "invalid_text_request", message, { type: "invalid_request_error", param });

export const localErrors = {
  keyMissing: () =>
    localFault(401, "missing_key", "未提供令牌，请在 Authorization 请求头中以 Bearer 方式携带"),
  /** The same for keys that are unknown, deleted and disabled, so that guessing reveals nothing (requirements L06). */
  keyInvalid: () => localFault(401, "invalid_key", "无效的令牌"),
  keyExpired: () => localFault(401, "expired_key", "该令牌已过期"),
  keyExhausted: () => localFault(401, LACKS.usedUpKey, "该令牌额度已用尽"),
  subnetRefused: () => localFault(403, "subnet_not_allowed", "该令牌不允许从当前网络地址使用"),
  userDisabled: () => localFault(403, "user_disabled", "该账户已停用，请联系管理员"),
  teamDisabled: () => localFault(403, "team_disabled", "该团队已停用，请联系团队所有者"),
  notInTeam: () => localFault(403, "not_in_team", "令牌的持有人已不是该团队的成员，或其角色不能使用令牌"),
  modelNotAllowed: (model: string) => localFault(403, "model_not_allowed", `该令牌无权使用模型 ${model}`),
  pinNotAllowed: () => localFault(403, "channel_pinning_not_allowed", "普通用户不支持指定渠道"),
  pinInvalid: () => localFault(400, "invalid_channel_id", "无效的渠道 ID"),
  pinDisabled: () => localFault(403, "channel_disabled", "该渠道已被禁用"),
  pinWithoutModel: (model: string) =>
    localFault(400, "model_not_in_channel", `指定的渠道未配置模型 ${model}`),
  groupsWithdrawn: () => localFault(403, "group_not_allowed", "该令牌指定的分组都不再可用，请修改令牌的分组"),
  noChannel: (group: string, model: string): RelayFault => ({
    ...localFault(503, "no_available_channel", `当前分组 ${group} 下对于模型 ${model} 无可用渠道`),
    isFinal: true,
  }),
  /** For administrators: others are told that there is no channel. */
  ruledOut: (rule: string, model: string): RelayFault => ({
    ...localFault(503, "route_rule_empty", `路由规则“${rule}”没有给模型 ${model} 留下可用的渠道`),
    isFinal: true,
  }),
  modelLeftOut: (model: string, fault: RelayFault): RelayFault => ({
    ...fault,
    publicMessage: `请求未指定 model，按默认模型 ${model} 处理：${fault.publicMessage}。请在请求中指定 model`,
    param: "model",
  }),
  /** All channels that could serve it are at their operator's limits (requirements C39). */
  channelsFull: (retryAfterMs: number): RelayFault => ({
    ...localFault(429, CHANNELS_FULL, "当前模型的渠道已达到限额，请稍后再试"),
    retryAfterMs,
  }),
  /**
   * A lasting state, so no 5xx (requirements W10.8): SDKs and Codex call again for minutes upon any 5xx, and hide the message
   * meanwhile.
   */
  priceMissing: (model: string) =>
    localFault(
      400,
      "model_price_missing",
      `模型 ${model} 尚未设置价格，请联系管理员在“模型与价格”中填写价格`,
      { type: "invalid_request_error", param: "model" },
    ),
  belowCost: (model: string) =>
    localFault(400, "model_below_cost", `模型 ${model} 的售价低于成本，暂不提供`, {
      type: "invalid_request_error",
      param: "model",
    }),
  userQuota: () => localFault(403, LACKS.payer, "用户额度不足"),
  /** The same code: clients do as with a wallet that is empty. */
  userDebt: () => localFault(403, LACKS.payer, "账户因退款或拒付有欠额，付费调用已暂停，充值偿还后恢复"),
  tokenQuota: () => localFault(403, LACKS.key, "令牌额度不足"),
  tooMany: (retryAfterMs: number) => ({
    ...localFault(429, "rate_limit_exceeded", "请求过于频繁，请稍后再试"),
    retryAfterMs,
  }),
  /** Unit: MiB. */
  bodyTooLarge: (limit: number) => localFault(413, "request_too_large", `请求体过大，最大为 ${limit} MiB`),
  bodyTooSlow: () => localFault(408, "request_timeout", "接收请求体超时"),
  bodyBroken: () => localFault(400, "incomplete_body", "请求体不完整"),
  bodyCoded: () =>
    localFault(415, "unsupported_content_encoding", "不支持压缩的请求体，请使用 identity 编码"),
  bodyUnreadable: () => invalid("请求体不是合法的 JSON 对象"),
  formUnreadable: () => invalid("请求体不是合法的 multipart/form-data 表单"),
  keysRepeated: () => invalid("请求体中存在重复的字段"),
  fieldMissing: (name: string) => invalid(`缺少参数 ${name}`, name),
  fieldInvalid: (name: string) => invalid(`参数 ${name} 无效`, name),
  stateRefused: (name: string) =>
    invalid(`本服务不保存会话状态，不支持 ${name}，请在 input 中携带完整的历史`, name),
  /** It is made without a model: no channel could be chosen for it that serves the calls to come. */
  conversationRefused: () =>
    invalid("不支持 conversation，请使用 previous_response_id 或在 input 中携带完整的历史", "conversation"),
  /** Anthropic's error for it: upon this its SDKs send the whole conversation (message-threads-2026-08-12). */
  threadRefused: () => ({
    ...invalid("本服务不保存会话状态，不支持 thread，请在 messages 中携带完整的历史", "thread"),
    extra: { details: { error_code: "thread_unsupported_request" } },
  }),
  textTooLong: (characters: number) =>
    localFault(400, "text_too_long", `文本过长，最多 ${characters} 个字符`, { param: "input" }),
  promptMissing: () => localFault(400, "prompt_missing", "缺少参数 prompt", { param: "prompt" }),
  promptTooLong: (characters: number) =>
    localFault(400, "prompt_too_long", `prompt 过长，最多 ${characters} 个字符`, { param: "prompt" }),
  imagesOutOfRange: (most: number) =>
    localFault(400, "n_not_within_range", `n 必须是 1 到 ${most} 之间的整数`, { param: "n" }),
  sizeUnknown: (size: string) =>
    localFault(400, "size_not_supported", `该模型不支持图片尺寸 ${size.slice(0, 40)}`, { param: "size" }),
  qualityUnknown: (quality: string) =>
    localFault(400, "quality_not_supported", `该模型不支持图片质量 ${quality.slice(0, 40)}`, {
      param: "quality",
    }),
  notImplemented: (): RelayFault => ({
    ...localFault(501, "api_not_implemented", "API not implemented", { param: "" }),
    isFinal: true,
  }),
  modelUnknown: (model: string) =>
    localFault(404, "model_not_found", `The model '${model}' does not exist`, {
      type: "invalid_request_error",
      param: "model",
    }),
  /** OpenAI's code: upon it clients send the whole conversation. */
  previousResponseUnknown: (id: string): RelayFault => ({
    ...localFault(400, "previous_response_not_found", `找不到 ID 为 ${id.slice(0, 80)} 的上一个响应`, {
      type: "invalid_request_error",
      param: "previous_response_id",
    }),
  }),
  responseUnknown: (id: string) =>
    localFault(404, "response_not_found", `响应 ${id.slice(0, 80)} 不存在`, {
      type: "invalid_request_error",
    }),
  videoUnknown: (id: string) =>
    localFault(404, "video_not_found", `视频 ${id.slice(0, 80)} 不存在`, { type: "invalid_request_error" }),
  videoNotReady: () => localFault(409, "video_not_ready", "视频尚未完成", { type: "invalid_request_error" }),
  videoExpired: () => localFault(410, "video_expired", "视频已过期或已被上游删除"),
  taskNotCancellable: () =>
    localFault(409, "task_not_cancellable", "该任务已经结束，或上游不支持取消", {
      type: "invalid_request_error",
    }),
  fileUnknown: (id: string) =>
    localFault(404, "file_not_found", `文件 ${id.slice(0, 80)} 不存在`, { type: "invalid_request_error" }),
  fileGone: () => localFault(410, "file_gone", "文件已过期，或已被上游删除"),
  /** The channel, or its key, is no more: no other channel has the file. */
  fileLost: (id: string) =>
    localFault(
      410,
      "file_channel_gone",
      `保存文件 ${id.slice(0, 80)} 的渠道或密钥已被删除或不再提供，请重新上传`,
      { type: "invalid_request_error" },
    ),
  purposeRefused: (purpose: string) =>
    localFault(400, "purpose_not_supported", `不支持 purpose“${purpose.slice(0, 40)}”，只支持 batch`, {
      type: "invalid_request_error",
      param: "purpose",
    }),
  /** A file in which something is wrong; `line` from 1. */
  lineInvalid: (line: number, what: string) => invalid(`第 ${line} 行：${what}`, "file"),
  fileEmpty: () => invalid("文件中没有请求", "file"),
  fileTooLarge: (megabytes: number) =>
    localFault(413, "file_too_large", `文件过大，最大为 ${megabytes} MB`, { param: "file" }),
  /** Files cost their sender nothing, and take room in the operator's account. Unit: GB. */
  filesTooMany: (most: number) =>
    localFault(400, "file_storage_full", `文件合计超过 ${most} GB，请先删除不再使用的文件`, {
      type: "invalid_request_error",
      param: "file",
    }),
  batchUnserved: (model: string) =>
    localFault(400, "batch_not_supported", `模型 ${model.slice(0, 80)} 没有支持批处理的渠道`, {
      type: "invalid_request_error",
      param: "model",
    }),
  batchUnknown: (id: string) =>
    localFault(404, "batch_not_found", `批处理 ${id.slice(0, 80)} 不存在`, {
      type: "invalid_request_error",
    }),
  quotaRanOut: () => localFault(403, LACKS.payer, "额度已用尽，输出被中止"),
  bookingFailed: (detail: string) =>
    localFault(503, "booking_failed", "暂时无法记账，请稍后再试", { detail }),
  /** The bodies of calls have used up their share of memory (requirements D02). */
  overloaded: (): RelayFault => ({
    ...localFault(503, "overloaded", "服务繁忙，请稍后再试"),
    retryAfterMs: 3_000,
  }),
  /** Nothing could be reserved, so nothing was sent (requirements F02, F03). */
  ledgerUnavailable: (detail: string): RelayFault => ({
    ...localFault(503, "storage_unavailable", "服务暂时不可用，请稍后再试", { detail }),
    retryAfterMs: 2_000,
  }),
  /** A head that can be read in two ways (requirements R17). */
  ambiguous: () => localFault(400, "ambiguous_request", "请求头有歧义"),
  upgradeRequired: () => localFault(426, "upgrade_required", "以 GET 请求该接口须为 WebSocket 连接"),
  upgradeRefused: () => localFault(400, "upgrade_not_supported", "该路径不支持 WebSocket 连接"),
  upgradeDeclined: () => localFault(426, "upgrade_not_supported", "该路径不支持 WebSocket 连接，请使用 HTTP"),
  upstreamBroke: () => localFault(502, "do_request_failed", "上游连接中断", { type: "upstream_error" }),
  messageBinary: () => invalid("消息必须是文本，不接受二进制消息"),
  responseRunning: () =>
    localFault(409, "response_in_progress", "同一连接同时只能生成一个响应，请等待它结束", {
      type: "invalid_request_error",
    }),
  /** OpenAI's code: upon it clients connect again and send the whole conversation. */
  socketTooOld: () =>
    localFault(400, "websocket_connection_limit_reached", "该连接已打开 55 分钟，请重新连接", {
      type: "invalid_request_error",
    }),
  sessionIdle: () => localFault(408, "session_idle", "会话长时间没有消息，已结束"),
  serverStopping: () => localFault(503, "server_stopping", "服务正在重启，请稍后再试"),
  internal: (detail: string) => localFault(500, "internal_error", "服务器内部错误，请联系管理员", { detail }),
} as const;
