// The table of requirements T29.18: what becomes of the errors of each vendor. Where the key or the account is at fault, the caller learns only
// that, and another channel is tried (requirements R18, R26, W20.16); the row says so by `credential`.
import { expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import { clientBody, play } from "#test/worlds/wire-cases.ts";
import { isDisabling } from "./health.ts";

interface Row {
  readonly type: number;
  readonly http: number;
  readonly body: object | string;
  readonly key?: string;
  readonly model?: string;
  readonly message: string;
  readonly status: number;
  readonly code: string | number;
  readonly fault?: string;
  readonly retry: boolean;
  readonly disables: boolean;
}

const CREDENTIAL = {
  message: "上游拒绝了本服务的凭证，请联系管理员",
  status: 502,
  code: "upstream_credential",
  retry: true,
} as const;
/** A signature whose time is off says nothing about the key. */
const CLOCK = {
  message: "本服务器的系统时间不准，上游拒绝了请求签名，请联系管理员校准时间",
  status: 502,
  code: "server_clock",
  retry: true,
  disables: false,
} as const;
const GENERAL = "bad_response_status_code";

const ROWS: readonly Row[] = [
  {
    type: 1,
    http: 429,
    body: { error: { message: "Rate limit", type: "tokens", code: "rate_limit_exceeded" } },
    message: "Rate limit",
    status: 429,
    code: "rate_limit_exceeded",
    fault: "tokens",
    retry: true,
    disables: false,
  },
  {
    type: 1,
    http: 429,
    body: {
      error: {
        message: "You exceeded your current quota",
        type: "insufficient_quota",
        code: "insufficient_quota",
      },
    },
    message: "You exceeded your current quota",
    status: 429,
    code: "insufficient_quota",
    fault: "insufficient_quota",
    retry: true,
    disables: true,
  },
  {
    type: 14,
    http: 529,
    body: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    message: "Overloaded",
    status: 529,
    code: "overloaded_error",
    fault: "overloaded_error",
    retry: true,
    disables: false,
  },
  {
    type: 14,
    http: 400,
    body: {
      type: "error",
      error: { type: "invalid_request_error", message: "Your credit balance is too low to access the API" },
    },
    ...CREDENTIAL,
    disables: true,
  },
  {
    type: 24,
    http: 400,
    body: {
      error: {
        code: 400,
        message: "API key not valid. Please pass a valid API key.",
        status: "INVALID_ARGUMENT",
      },
    },
    ...CREDENTIAL,
    disables: true,
  },
  {
    type: 15,
    http: 200,
    key: "fixture-api-key|fixture-secret-key",
    body: { error_code: 18, error_msg: "Open api qps request limit reached" },
    message: "Open api qps request limit reached",
    status: 429,
    code: 18,
    fault: "baidu_error",
    retry: true,
    disables: false,
  },
  {
    type: 15,
    http: 200,
    key: "fixture-api-key|fixture-secret-key",
    body: { error_code: 110, error_msg: "Access token invalid or no longer valid" },
    ...CREDENTIAL,
    disables: true,
  },
  {
    type: 23,
    http: 200,
    key: "1250000000|fixture-secret-id|fixture-secret-key",
    body: { Response: { Error: { Code: "AuthFailure.SignatureFailure", Message: "bad" }, RequestId: "r" } },
    ...CREDENTIAL,
    disables: true,
  },
  {
    type: 23,
    http: 200,
    key: "1250000000|fixture-secret-id|fixture-secret-key",
    body: {
      Response: { Error: { Code: "AuthFailure.SignatureExpire", Message: "签名过期" }, RequestId: "r" },
    },
    ...CLOCK,
  },
  {
    type: 33,
    http: 403,
    key: "AKIDEXAMPLE0|fixture-secret-key-0123|us-east-1",
    model: "us.anthropic.claude-sonnet-4-6",
    body: {
      message: "Signature expired: 20261123T001000Z is now earlier than 20261123T001500Z (…Z - 5 min.)",
    },
    ...CLOCK,
  },
  {
    type: 33,
    http: 403,
    key: "AKIDEXAMPLE0|fixture-secret-key-0123|us-east-1",
    model: "us.amazon.nova-pro-v1:0",
    body: {
      message:
        "Signature not yet current: 20261123T002500Z is still later than 20261123T001500Z (…Z + 5 min.)",
    },
    ...CLOCK,
  },
  {
    type: 18,
    http: 403,
    key: "fixappid|fixture-secret-0123456|fixture-api-key-01234",
    model: "Spark-Max",
    body: {
      message:
        "HMAC signature cannot be verified, a valid date or x-date header is required for HMAC Authentication",
    },
    ...CLOCK,
  },
  {
    type: 16,
    http: 401,
    key: "fixture-id.fixture-secret",
    body: { error: { code: "1003", message: "Authentication Token 已过期，请重新生成/获取" } },
    ...CLOCK,
  },
  {
    type: 17,
    http: 400,
    body: { code: "Arrearage", message: "Access denied, overdue", request_id: "r" },
    ...CREDENTIAL,
    disables: true,
  },
  {
    type: 49,
    http: 400,
    body: { error: { code: "Arrearage", type: "Arrearage", message: "Access denied, overdue" } },
    ...CREDENTIAL,
    disables: true,
  },
  {
    type: 16,
    http: 429,
    key: "fixture-id.fixture-secret",
    body: { error: { code: "1302", message: "busy" } },
    message: "busy",
    status: 429,
    code: "1302",
    fault: "upstream_error",
    retry: true,
    disables: false,
  },
  {
    type: 30,
    http: 404,
    body: { error: "model 'x' not found" },
    message: "model 'x' not found",
    status: 404,
    code: "ollama_error",
    fault: "ollama_error",
    retry: true,
    disables: false,
  },
  {
    type: 45,
    http: 400,
    body: { code: "invalid-argument", error: "bad" },
    message: "bad",
    status: 400,
    code: GENERAL,
    fault: "upstream_error",
    retry: false,
    disables: false,
  },
  {
    type: 28,
    http: 422,
    body: { detail: [{ loc: ["body", "x"], msg: "extra fields not permitted", type: "value_error.extra" }] },
    message: "extra fields not permitted",
    status: 422,
    code: GENERAL,
    fault: "upstream_error",
    retry: false,
    disables: false,
  },
  {
    type: 1,
    http: 502,
    body: "<html><body><h1>502 Bad Gateway</h1></body></html>",
    message: "bad response status code 502",
    status: 502,
    code: GENERAL,
    fault: "upstream_error",
    retry: true,
    disables: false,
  },
];

it.each(ROWS.map((row) => [`${row.type} ${row.http} ${JSON.stringify(row.body)}`, row] as const))(
  "%s",
  async (_, { type, http, body, key = "sk-fixture-key-0123456789", model = "m", ...expected }) => {
    const provider = providerOf(type);
    if (provider === undefined) throw new Error(`no provider ${type}`);
    const request = { model, messages: [{ role: "user", content: "hi" }] };
    const { result } = await play({
      channel: { provider, key, baseUrl: "", other: "" },
      endpoint: "chat",
      body: clientBody(Buffer.from(JSON.stringify(request))),
      model,
      isStream: false,
      status: http,
      contentType: typeof body === "string" ? "text/html" : "application/json",
      reply: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
    });
    if (result.kind !== "fault") throw new Error("no fault");
    const { message, status, code, fault, retry, disables } = expected;
    expect(result).toMatchObject({
      publicMessage: message,
      status,
      code,
      retry,
      ...(fault !== undefined && { type: fault }),
    });
    expect(isDisabling(result)).toBe(disables);
  },
);
