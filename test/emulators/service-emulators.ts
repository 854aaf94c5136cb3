// The other services a server may lean on: Turnstile's verifier, a WeChat server, a message pusher.
import { type HttpEmulator, startHttpEmulator } from "./http-emulator.ts";

export interface TurnstileEmulator extends HttpEmulator {
  readonly secret: string;
  /** A visitor solves the challenge; returns the proof. */
  solve(fields?: { hostname?: string; action?: string }): string;
  /** From now on no answer comes. */
  hang: boolean;
}

/** As the real one: a proof is valid once, for the secret of its site. */
export async function startTurnstile(): Promise<TurnstileEmulator> {
  const secret = "turnstile-secret-canary";
  const proofs = new Map<string, { hostname: string; action: string }>();
  let count = 0;
  const server = await startHttpEmulator(({ path, body }) => {
    if (emulator.hang) return undefined;
    if (path !== "/turnstile/v0/siteverify") return { status: 404, json: {} };
    const form = new URLSearchParams(body);
    const no = (code: string) => ({ json: { success: false, "error-codes": [code] } });
    if (form.get("secret") !== secret) return no("invalid-input-secret");
    const proof = proofs.get(form.get("response") ?? "");
    if (!proof) return no("timeout-or-duplicate");
    proofs.delete(form.get("response") ?? "");
    return { json: { success: true, "error-codes": [], ...proof } };
  });
  const emulator: TurnstileEmulator = {
    ...server,
    secret,
    hang: false,
    solve(fields = {}) {
      const proof = `0.proof-${++count}`;
      proofs.set(proof, { hostname: "localhost", action: "", ...fields });
      return proof;
    },
  };
  return emulator;
}

export interface WeChatEmulator extends HttpEmulator {
  readonly token: string;
  /** A follower sends the keyword and is told a code. */
  tell(wechatId: string, code?: string): string;
}

/** As the family's WeChat server: codes are valid for three minutes by the clock given, and may be asked for again and again. */
export async function startWeChat(nowMs: () => number): Promise<WeChatEmulator> {
  const token = "wechat-token-canary";
  const codes = new Map<string, { id: string; untilMs: number }>();
  let count = 100_000;
  const server = await startHttpEmulator(({ path, query, headers }) => {
    if (path !== "/api/wechat/user") return { status: 404, json: {} };
    if (headers.authorization !== token) return { json: { success: false, message: "no", data: "" } };
    const found = codes.get(query.get("code") ?? "");
    const id = found && found.untilMs > nowMs() ? found.id : "";
    return { json: { success: true, message: "", data: id } };
  });
  return {
    ...server,
    token,
    tell(id, code = String(++count)) {
      codes.set(code, { id, untilMs: nowMs() + 180_000 });
      return code;
    },
  };
}

export interface PusherEmulator extends HttpEmulator {
  readonly token: string;
  readonly messages: { title: string; description: string; content: string; url: string; channel: string }[];
  isBroken: boolean;
}

export async function startPusher(): Promise<PusherEmulator> {
  const token = "pusher-token-canary";
  const messages: PusherEmulator["messages"] = [];
  const server = await startHttpEmulator(({ method, body }) => {
    if (emulator.isBroken) return { status: 500, json: { success: false, message: "broken" } };
    const { token: given, ...message } = JSON.parse(body);
    if (method !== "POST" || given !== token) return { json: { success: false, message: "no" } };
    messages.push(message);
    return { json: { success: true, message: "" } };
  });
  const emulator: PusherEmulator = { ...server, token, messages, isBroken: false };
  return emulator;
}
