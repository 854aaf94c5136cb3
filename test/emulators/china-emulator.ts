// Emulates vendors in China whose wires are their own: Baidu's classic service, Hunyuan, DashScope, Spark's WebSocket, Zhipu's third
// version. It checks credentials as they do and answers in their words; written from their documents, not from our code.
import { createHash, createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { WebSocketServer } from "ws";

export const USAGE = { prompt: 12, completion: 30 };
export const PIECES = ["静夜", "思"];
const CALL = { name: "get_weather", arguments: '{"city":"Rome"}' };

/** What a vendor was asked. */
interface Asked {
  readonly body: string;
  readonly isStream: boolean;
  readonly wantsTool: boolean;
}

type Json = Record<string, unknown>;

type Answer =
  | { readonly json: Json; readonly status?: number }
  | { readonly events: readonly Json[] }
  | { readonly stream: string };

export class ChinaEmulator {
  url = "";
  /** Tokens that Baidu has issued. */
  tokens = 0;
  /** Closing codes of Spark's connections. */
  readonly closed: number[] = [];
  #isTokenStale = false;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #sockets = new WebSocketServer({ noServer: true });

  async start(): Promise<void> {
    this.#server.on("upgrade", (request, socket, head) => {
      if (!isSparkSignature(request)) {
        const body = '{"message":"HMAC signature cannot be verified"}';
        const head = `HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
        socket.end(`${head}\r\n\r\n${body}`);
        return;
      }
      this.#sockets.handleUpgrade(request, socket, head, (ws) => {
        ws.on("close", (code) => this.closed.push(code));
        ws.on("message", (data) => {
          for (const frame of sparkFrames(String(data))) ws.send(JSON.stringify(frame));
        });
      });
    });
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    this.url = `http://127.0.0.1:${address.port}`;
  }

  /** The token that Baidu issued last is no longer valid. */
  expireToken(): void {
    this.#isTokenStale = true;
  }

  close(): void {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const path = request.url ?? "";
    const asked = { body, isStream: isStream(request, body), wantsTool: wantsTool(body) };
    send(response, this.#answer(path, request, asked));
  }

  #answer(path: string, request: IncomingMessage, asked: Asked): Answer {
    if (path.startsWith("/oauth/")) {
      if (path.includes("wrong-key"))
        return { json: { error: "invalid_client", error_description: "unknown client id" }, status: 401 };
      this.tokens += 1;
      this.#isTokenStale = false;
      return { json: { access_token: `token-${this.tokens}`, expires_in: 2_592_000 } };
    }
    if (path.startsWith("/rpc/")) return this.#baidu(path, asked);
    if (path === "/") return tencent(request, asked);
    if (path.startsWith("/api/v1/services/")) return dashScope(request, asked);
    if (path.startsWith("/api/paas/v3/")) return zhipu(request, asked);
    return { json: { error: "no such address" }, status: 404 };
  }

  #baidu(path: string, asked: Asked): Answer {
    const isGood = path.endsWith(`access_token=token-${this.tokens}`) && !this.#isTokenStale;
    if (!isGood) return { json: { error_code: 110, error_msg: "Access token invalid or no longer valid" } };
    if (asked.body.includes("fail")) return { json: { error_code: 18, error_msg: "qps" } };
    const roles = [...asked.body.matchAll(/"role":"(user|assistant|function)"/g)].map(([, role]) => role);
    if (roles.some((role, at) => (role === "assistant") !== (at % 2 === 1)))
      return { json: { error_code: 336006, error_msg: "the roles must take turns" } };
    const usage = {
      prompt_tokens: USAGE.prompt,
      completion_tokens: USAGE.completion,
      total_tokens: USAGE.prompt + USAGE.completion,
    };
    const last = asked.wantsTool ? { result: "", function_call: CALL } : {};
    if (!asked.isStream)
      return { json: { id: "as-1", result: PIECES.join(""), usage, ...last, is_truncated: false } };
    return {
      events: PIECES.map((result, at) => ({
        id: "as-1",
        result: asked.wantsTool ? "" : result,
        is_end: at === PIECES.length - 1,
        usage,
        ...(at === PIECES.length - 1 && last),
      })),
    };
  }
}

function send(response: ServerResponse, answer: Answer): void {
  if ("json" in answer) {
    const head = { "content-type": "application/json" };
    response.writeHead(answer.status ?? 200, head).end(JSON.stringify(answer.json));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream;charset=UTF-8" });
  if ("stream" in answer) response.write(answer.stream);
  else for (const value of answer.events) response.write(`data:${JSON.stringify(value)}\n\n`);
  response.end();
}

function isStream(request: IncomingMessage, body: string): boolean {
  return (
    /"[Ss]tream":true/.test(body) ||
    request.headers["x-dashscope-sse"] === "enable" ||
    request.url?.endsWith("/sse-invoke") === true
  );
}

/** Tools are offered and none has been called yet. */
function wantsTool(body: string): boolean {
  const hasResult = /"[Rr]ole":"(function|tool)"/.test(body) || body.includes("[result]");
  return /"(functions|[Tt]ools)":/.test(body) && !hasResult;
}

const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest();
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** Source: Tencent Cloud's "Signature v3"; the secret of the tests. */
function isTencentSignature({ headers }: IncomingMessage, body: string): boolean {
  const { host = "", authorization = "" } = headers;
  const [action, timestamp] = [String(headers["x-tc-action"]), String(headers["x-tc-timestamp"])];
  const date = new Date(Number(timestamp) * 1000).toISOString().slice(0, 10);
  const signed = `content-type:application/json\nhost:${host}\nx-tc-action:${action.toLowerCase()}\n`;
  const canonical = `POST\n/\n\n${signed}\ncontent-type;host;x-tc-action\n${sha256(body)}`;
  const text = `TC3-HMAC-SHA256\n${timestamp}\n${date}/hunyuan/tc3_request\n${sha256(canonical)}`;
  const key = hmac(hmac(hmac("TC3secret-key", date), "hunyuan"), "tc3_request");
  return authorization.endsWith(`Signature=${hmac(key, text).toString("hex")}`);
}

function tencent(request: IncomingMessage, asked: Asked): Answer {
  const refuse = (Code: string): Answer => {
    return { json: { Response: { Error: { Code, Message: "refused" }, RequestId: "r" } } };
  };
  if (!isTencentSignature(request, asked.body)) return refuse("AuthFailure.SignatureFailure");
  if (asked.body.includes("fail")) return refuse("LimitExceeded");
  const Usage = {
    PromptTokens: USAGE.prompt,
    CompletionTokens: USAGE.completion,
    TotalTokens: USAGE.prompt + USAGE.completion,
  };
  const ToolCalls = [
    { Id: "call_t", Type: "function", Index: 0, Function: { Name: CALL.name, Arguments: CALL.arguments } },
  ];
  const FinishReason = asked.wantsTool ? "tool_calls" : "stop";
  const Message = asked.wantsTool ? { Content: "", ToolCalls } : { Content: PIECES.join("") };
  if (!asked.isStream)
    return { json: { Response: { Id: "x", Choices: [{ FinishReason, Message }], Usage } } };
  const pieces = asked.wantsTool ? [{ ToolCalls }] : PIECES.map((Content) => ({ Content }));
  return {
    events: pieces.map((Delta, at) => ({
      Id: "x",
      Choices: [{ Delta, FinishReason: at === pieces.length - 1 ? FinishReason : "" }],
      Usage,
    })),
  };
}

function dashScope(request: IncomingMessage, asked: Asked): Answer {
  if (request.headers.authorization !== "Bearer sk-dashscope")
    return { json: { code: "InvalidApiKey", message: "no", request_id: "r" }, status: 401 };
  if (asked.body.includes("fail"))
    return { json: { code: "Throttling.RateQuota", message: "slow down", request_id: "r" }, status: 429 };
  const usage = {
    input_tokens: USAGE.prompt,
    output_tokens: USAGE.completion,
    total_tokens: USAGE.prompt + USAGE.completion,
  };
  const tool_calls = [{ index: 0, id: "call_d", type: "function", function: CALL }];
  const end = asked.wantsTool ? "tool_calls" : "stop";
  const answer = (message: Json, finish_reason: string) => ({
    output: { choices: [{ message: { role: "assistant", ...message }, finish_reason }] },
    usage,
    request_id: "q",
  });
  const whole = asked.wantsTool ? { content: "", tool_calls } : { content: PIECES.join("") };
  if (!asked.isStream) return { json: answer(whole, end) };
  const pieces = asked.wantsTool ? [whole] : PIECES.map((content) => ({ content }));
  return {
    events: pieces.map((piece, at) => answer(piece, at === pieces.length - 1 ? end : "null")),
  };
}

/** Source: Zhipu's token, a JSON Web Token signed with the second half of the key. */
function isZhipuToken({ headers }: IncomingMessage): boolean {
  const token = /^(Bearer )?(.+)$/.exec(headers.authorization ?? "")?.[2] ?? "";
  const [head = "", claims = "", signature] = token.split(".");
  return signature === hmac("secret", `${head}.${claims}`).toString("base64url");
}

function zhipu(request: IncomingMessage, asked: Asked): Answer {
  if (!isZhipuToken(request)) return { json: { code: 1000, msg: "身份验证失败", success: false } };
  if (asked.body.includes("fail")) return { json: { code: 1302, msg: "busy", success: false } };
  const usage = {
    prompt_tokens: USAGE.prompt,
    completion_tokens: USAGE.completion,
    total_tokens: USAGE.prompt + USAGE.completion,
  };
  if (!asked.isStream) {
    const choices = [{ role: "assistant", content: JSON.stringify(PIECES.join("")) }];
    return { json: { code: 200, success: true, data: { request_id: "7", choices, usage } } };
  }
  const adds = PIECES.map((piece) => `event: add\nid: 7\ndata: ${piece}\n\n`);
  const meta = JSON.stringify({ task_status: "SUCCESS", usage });
  return { stream: `${adds.join("")}event: finish\nid: 7\ndata:\nmeta: ${meta}\n\n` };
}

/** Source: iFlytek's "general URL authentication"; the secrets of the tests. */
function isSparkSignature(request: IncomingMessage): boolean {
  const url = new URL(request.url ?? "", "ws://x");
  const [authorization, date, host] = ["authorization", "date", "host"].map(
    (name) => url.searchParams.get(name) ?? "",
  );
  const text = `host: ${host}\ndate: ${date}\nGET ${url.pathname} HTTP/1.1`;
  const signature = hmac("spark-secret", text).toString("base64");
  const origin = `hmac username="spark-key", algorithm="hmac-sha256", headers="host date request-line", signature="${signature}"`;
  const isNow = Math.abs(Date.parse(date ?? "") - Date.now()) < 300_000;
  return isNow && authorization === Buffer.from(origin).toString("base64");
}

function sparkFrames(question: string): Json[] {
  const frame = (status: number, piece: Json, usage?: Json) => ({
    header: { code: 0, message: "Success", sid: "cht1", status },
    payload: { choices: { status, seq: status, text: [{ role: "assistant", index: 0, ...piece }] }, usage },
  });
  if (!question.includes('"app_id":"spark-app"'))
    return [{ header: { code: 10016, message: "no app", status: 2 } }];
  if (question.includes("fail"))
    return [{ header: { code: 11202, message: "too often", sid: "s", status: 2 } }];
  const text = {
    question_tokens: 1,
    prompt_tokens: USAGE.prompt,
    completion_tokens: USAGE.completion,
    total_tokens: USAGE.prompt + USAGE.completion,
  };
  const [first = "", last = ""] = PIECES;
  if (wantsTool(question)) return [frame(2, { content: "", function_call: CALL }, { text })];
  return [frame(0, { content: first }), frame(2, { content: last }, { text })];
}
