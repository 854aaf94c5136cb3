// Robots of 飞书, 钉钉 and 企业微信, and what else takes alerts, as their documents tell: signatures and times are verified with code of
// its own, limits are kept, refusals come with status 200. One server for all; the paths tell them apart.
import { createHmac } from "node:crypto";
import { type Heard, type HttpEmulator, type Reply, startHttpEmulator } from "./http-emulator.ts";

export const ROBOT = {
  feishu: "https://open.feishu.cn/open-apis/bot/v2/hook/feishu-token-canary",
  feishuSecret: "tollgate-test-secret",
  dingtalk: "https://oapi.dingtalk.com/robot/send?access_token=dingtalktokencanary",
  dingtalkSecret: "SECdingtalk-secret-canary",
  wecom: "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=wecom-key-canary",
  telegramToken: "123456:telegram-token-canary-0123",
  slack: "https://hooks.slack.com/services/T0/B0/slack-canary",
  barkKey: "bark-key-canary",
  webhookSecret: "whsec_dG9sbGdhdGUtd2ViaG9vay1zZWNyZXQtMzItYnl0ZXMh",
} as const;

const HOUR_MS = 3_600_000;

export interface Taken {
  readonly vendor: string;
  // Tests know what they sent.
  // biome-ignore lint/suspicious/noExplicitAny: test code reads fields of any message.
  readonly body: any;
  readonly headers: Heard["headers"];
}

export interface Robots extends HttpEmulator {
  /** What was accepted, in order. */
  readonly taken: Taken[];
  /** From now on this vendor answers so; "hang" = not at all, undefined = as usual. */
  fail(vendor: string, reply: Reply | "hang" | undefined): void;
}

function hmac(key: string | Buffer, text: string): string {
  return createHmac("sha256", key).update(text).digest("base64");
}

type Judge = (heard: Heard, nowMs: number) => Reply | undefined;

/** Why a call is refused; undefined = it is taken. */
const JUDGES: Readonly<Record<string, Judge>> = {
  feishu({ body }, nowMs) {
    const { timestamp, sign, msg_type } = JSON.parse(body);
    if (Buffer.byteLength(body) > 20_480) return { json: { code: 9499, msg: "Bad Request" } };
    const isTimely = Math.abs(Number(timestamp) * 1_000 - nowMs) <= HOUR_MS;
    if (!isTimely || sign !== hmac(`${timestamp}\n${ROBOT.feishuSecret}`, ""))
      return {
        json: { code: 19021, msg: "sign match fail or timestamp is not within one hour from current time" },
      };
    return msg_type === "interactive" ? undefined : { json: { code: 9499, msg: "Bad Request" } };
  },
  dingtalk({ query, body }, nowMs) {
    const at = query.get("timestamp") ?? "";
    const isTimely = Math.abs(Number(at) - nowMs) <= HOUR_MS;
    const signed = hmac(ROBOT.dingtalkSecret, `${at}\n${ROBOT.dingtalkSecret}`);
    if (query.get("access_token") !== "dingtalktokencanary") return { json: { errcode: 300001 } };
    if (!isTimely || query.get("sign") !== signed)
      return { json: { errcode: 310000, errmsg: "sign not match" } };
    return JSON.parse(body).msgtype === "markdown" ? undefined : { json: { errcode: 40035 } };
  },
  wecom({ query, body }) {
    if (query.get("key") !== "wecom-key-canary")
      return { json: { errcode: 93000, errmsg: "invalid webhook url" } };
    const { markdown } = JSON.parse(body);
    return Buffer.byteLength(markdown.content) > 4_096 ? { json: { errcode: 40058 } } : undefined;
  },
  telegram({ path, body }) {
    if (path !== `/bot${ROBOT.telegramToken}/sendMessage`)
      return { status: 401, json: { ok: false, error_code: 401 } };
    const { text, parse_mode } = JSON.parse(body);
    return Array.from(text).length > 4_096 || parse_mode !== undefined
      ? { status: 400, json: { ok: false, error_code: 400 } }
      : undefined;
  },
  slack: ({ path }) =>
    path === "/services/T0/B0/slack-canary"
      ? undefined
      : { status: 404, body: Buffer.from("no_service"), headers: { "content-type": "text/plain" } },
  bark: ({ body }) =>
    JSON.parse(body).device_key === ROBOT.barkKey ? undefined : { status: 400, json: { code: 400 } },
  webhook({ headers, body }, nowMs) {
    const [id, at] = [headers["webhook-id"], headers["webhook-timestamp"]];
    const key = Buffer.from(ROBOT.webhookSecret.slice("whsec_".length), "base64");
    const isTimely = Math.abs(Number(at) * 1_000 - nowMs) <= 300_000;
    return isTimely && headers["webhook-signature"] === `v1,${hmac(key, `${id}.${at}.${body}`)}`
      ? undefined
      : { status: 401, json: {} };
  },
};

const ACCEPTED: Readonly<Record<string, Reply>> = {
  feishu: { json: { code: 0, msg: "success", data: {} } },
  dingtalk: { json: { errcode: 0, errmsg: "ok" } },
  wecom: { json: { errcode: 0, errmsg: "ok" } },
  telegram: { json: { ok: true, result: {} } },
  slack: { body: Buffer.from("ok"), headers: { "content-type": "text/plain" } },
  bark: { json: { code: 200, message: "success" } },
  webhook: { status: 202, json: {} },
};

const PATHS: readonly (readonly [string, RegExp])[] = [
  ["feishu", /^\/open-apis\/bot\/v2\/hook\/feishu-token-canary$/],
  ["dingtalk", /^\/robot\/send$/],
  ["wecom", /^\/cgi-bin\/webhook\/send$/],
  ["telegram", /^\/bot/],
  ["slack", /^\/services\//],
  ["bark", /^\/push$/],
  ["webhook", /^\/hook$/],
];

/** Messages of a vendor in a minute that are too many, and what it says then. */
const TOO_MANY: Readonly<Record<string, readonly [number, Reply]>> = {
  feishu: [100, { json: { code: 11232, msg: "frequency limited" } }],
  dingtalk: [20, { json: { errcode: 130101, errmsg: "send too fast" } }],
  wecom: [20, { json: { errcode: 45009, errmsg: "api freq out of limit" } }],
};

/** `now` is the clock that signatures and limits are judged by; ms. */
export async function startRobots(now: () => number): Promise<Robots> {
  const taken: Taken[] = [];
  const failing = new Map<string, Reply | "hang">();
  const calls = new Map<string, number[]>();
  const server = await startHttpEmulator((heard) => {
    const vendor = PATHS.find(([, form]) => form.test(heard.path))?.[0];
    if (vendor === undefined) return { status: 404, json: {} };
    const failure = failing.get(vendor);
    if (failure !== undefined) return failure === "hang" ? undefined : failure;
    const recent = [...(calls.get(vendor) ?? []).filter((at) => at > now() - 60_000), now()];
    calls.set(vendor, recent);
    const [most, refusal] = TOO_MANY[vendor] ?? [Number.POSITIVE_INFINITY, {}];
    if (recent.length > most) return refusal;
    const refused = JUDGES[vendor]?.(heard, now());
    if (refused !== undefined) return refused;
    taken.push({ vendor, body: JSON.parse(heard.body), headers: heard.headers });
    return ACCEPTED[vendor];
  });
  return {
    ...server,
    taken,
    fail(vendor, reply) {
      if (reply === undefined) failing.delete(vendor);
      else failing.set(vendor, reply);
    },
  };
}
