// The failed attempts of a call, in words for administrators.
import type { FailedChannel } from "#contract/log.ts";

const ERRORS: Readonly<Record<string, string>> = {
  do_request_failed: "无法连接或等待超时",
  bad_response: "回答无法识别",
  unsupported_parameter: "不支持请求中的参数",
  invalid_channel_address: "渠道地址无效",
  invalid_channel_key: "渠道密钥无效",
  unsupported_relay_mode: "不支持此接口",
};

/** How a channel failed: the status it answered with, what we know of it, or the bare code. */
export function failureText(error: string): string {
  const status = /^upstream_(\d+)$/.exec(error)?.[1];
  if (status === undefined) return ERRORS[error] ?? error;
  return Number(status) < 400 ? `回答无法识别（状态码 ${status}）` : `上游返回 ${status}`;
}

/** A channel by number and, while it is known, name. */
export function channelLabel({
  channel,
  channel_name,
}: Pick<FailedChannel, "channel" | "channel_name">): string {
  return channel_name === "" ? `#${channel}` : `#${channel} ${channel_name}`;
}

function quoted({ said }: FailedChannel): string {
  return said === "" ? "" : `（${said}）`;
}

/** The failed attempts in one line; empty when there was none. */
export function attemptsText(attempts: readonly FailedChannel[]): string {
  return attempts
    .map((failed) => `${channelLabel(failed)}：${failureText(failed.error)}${quoted(failed)}`)
    .join(" → ");
}
