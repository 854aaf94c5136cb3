// How the call of a channel failed, in words for administrators. Pure.

/** The error of a call that another one made at the same time was faster than. */
export const OVERTAKEN = "overtaken";

const ERRORS: Readonly<Record<string, string>> = {
  do_request_failed: "无法连接或等待超时",
  proxy_failed: "出站代理不可用",
  bad_response: "回答无法识别",
  unsupported_parameter: "不支持请求中的参数",
  invalid_channel_address: "渠道地址无效",
  invalid_channel_key: "渠道密钥无效",
  unsupported_relay_mode: "不支持此接口",
  [OVERTAKEN]: "比同时请求的渠道慢，已中断，上游可能仍收提示的费用",
};

/** Why a channel or key was disabled by itself: a status and codes stand as they came, behind what they are. */
export function offReason(reason: string): string {
  return reason.replace(/^status (?=\d{3}\b)/, "HTTP ");
}

/** How a channel failed, and what it said of it. Of a proxy our own words say all. */
export function failureParts({
  error,
  said,
}: {
  readonly error: string;
  readonly said: string;
}): [text: string, said: string] {
  return error === "proxy_failed" && said !== "" ? [said, ""] : [failureText(error), said];
}

/** How a channel failed: the status it answered with, what we know of it, or the bare code. */
export function failureText(error: string): string {
  const status = /^upstream_(\d+)$/.exec(error)?.[1];
  if (status === undefined) return ERRORS[error] ?? error;
  return Number(status) < 400 ? `回答无法识别（状态码 ${status}）` : `上游返回 ${status}`;
}
