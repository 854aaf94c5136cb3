// The one way to call WeChat Pay: each request signed, each answer verified by the set of keys of the account (vendors/wechat-pay).
import type { Instance, ProviderDeps } from "#server/payments/provider.ts";
import { verifyWeChat, type WeChatSigned, wechatRequestText } from "#server/payments/wire/signatures.ts";
import { type RsaKey, rsaPrivateKey, rsaPublicKey, signRsa } from "#server/secrets/payment-crypto.ts";
import { randomHex } from "#server/secrets.ts";
import { callProvider, JSON_BODY, objectOf, problemOf, textOf } from "./call.ts";

/** The keys of an account: before each stands its id on a line of its own. */
export function wechatKeys(text: string): Map<string, RsaKey> {
  const keys = new Map<string, RsaKey>();
  for (const [, serial = "", pem = ""] of text.matchAll(
    /^\s*(\w{8,80})\s*\n((?!\s*\w{8,80}\s*\n-)[\s\S]*?-----END [A-Z ]+-----)/gm,
  )) {
    const key = rsaPublicKey(pem.trim());
    if (key) keys.set(serial, key);
  }
  return keys;
}

/** What the headers of a message of WeChat Pay say about who signed it. */
export function wechatSigned(header: (name: string) => string, body: Uint8Array): WeChatSigned {
  return {
    timestamp: header("wechatpay-timestamp"),
    nonce: header("wechatpay-nonce"),
    signature: header("wechatpay-signature"),
    serial: header("wechatpay-serial"),
    body,
  };
}

export type WeChatAnswer =
  | { readonly kind: "ok"; readonly body: Record<string, unknown> }
  | { readonly kind: "refused"; readonly code: string; readonly status: number }
  | { readonly kind: "unclear"; readonly problem: string };

/** The header that signs a request; undefined = the account has no usable key. */
export function wechatAuthorization(
  instance: Instance,
  { method, path, nowSec, body }: { method: "GET" | "POST"; path: string; nowSec: number; body: string },
): string | undefined {
  const key = rsaPrivateKey(instance.secrets("private_key")[0] ?? "");
  if (!key) return undefined;
  const [timestamp, nonce] = [String(nowSec), randomHex(32).toUpperCase()];
  const signature = signRsa(wechatRequestText({ method, path, timestamp, nonce, body }), key);
  return (
    `WECHATPAY2-SHA256-RSA2048 mchid="${instance.merchantId}",nonce_str="${nonce}",` +
    `signature="${signature}",timestamp="${timestamp}",serial_no="${instance.field("cert_serial")}"`
  );
}

/** Calls WeChat Pay and verifies its answer. Never throws. */
export async function wechatCall(
  instance: Instance,
  deps: ProviderDeps,
  { method, path, content }: { method: "GET" | "POST"; path: string; content?: object },
): Promise<WeChatAnswer> {
  const { nowSec } = deps;
  const keys = wechatKeys(instance.field("platform_key"));
  const body = content === undefined ? "" : JSON.stringify(content);
  const authorization = wechatAuthorization(instance, { method, path, nowSec, body });
  if (authorization === undefined) return { kind: "unclear", problem: "no usable key" };
  const [serial = ""] = keys.keys();
  const headers = ["authorization", authorization, "wechatpay-serial", serial, ...JSON_BODY];
  const url = instance.baseUrl + path;
  const result = await callProvider(deps, { method, url, headers, body: content && body });
  if (result.kind === "fault") return { kind: "unclear", problem: result.code };
  const signed = wechatSigned((name) => textOf(result.headers[name]), Buffer.from(result.text));
  const isSigned = verifyWeChat(signed, keys, nowSec) === "valid";
  // A yes without a valid signature was never received; a no names its reason, which a redirect or a page of a proxy does not.
  if (result.status >= 200 && result.status < 300)
    return isSigned
      ? { kind: "ok", body: objectOf(result.text) ?? {} }
      : { kind: "unclear", problem: "signature" };
  const code = textOf(objectOf(result.text)?.["code"]);
  const isRefusal = result.status >= 400 && result.status < 500 && result.status !== 429 && CODE.test(code);
  return isRefusal
    ? { kind: "refused", code, status: result.status }
    : { kind: "unclear", problem: problemOf(result) };
}

const CODE = /^[A-Z_]{1,40}$/;

/** Why an answer is no yes, in a word. */
export function wechatProblem(answer: Exclude<WeChatAnswer, { kind: "ok" }>): string {
  return answer.kind === "unclear" ? answer.problem : answer.code;
}
