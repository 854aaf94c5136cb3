// How each provider signs and how its signatures are verified. Pure: text, key and time in, verdict out.

import { md5Hex, type RsaKey, sameSignature, signRsa, verifiesRsa } from "#server/secrets/payment-crypto.ts";
import { hmacSha256 } from "#server/secrets.ts";
import { joined, type Params } from "./form.ts";

/** Seconds that a provider's clock and ours may differ. */
export const TOLERANCE_SEC = 300;

const UNSIGNED = ["sign", "sign_type"];

/** V1 of 易支付: the key follows the joined values, nothing between (vendors/epay). */
export function signEpayV1(params: Iterable<readonly [string, string]>, key: string): string {
  return md5Hex(joined(params, UNSIGNED) + key);
}

export function verifiesEpayV1(params: Params, key: string): boolean {
  // An empty key would accept what any caller can compute (requirements Y07).
  return key !== "" && sameSignature(params.get("sign") ?? "", signEpayV1(params, key));
}

/** V2 of 易支付: the merchant signs, the platform's key verifies (vendors/epay). */
export function signEpayV2(params: Iterable<readonly [string, string]>, key: RsaKey): string {
  return signRsa(joined(params, UNSIGNED), key);
}

export function verifiesEpayV2(params: Params, key: RsaKey, nowSec: number): boolean {
  return (
    isNear(params.get("timestamp") ?? "", nowSec) &&
    verifiesRsa(joined(params, UNSIGNED), params.get("sign") ?? "", key)
  );
}

/** Whether a text is a Unix time in seconds within the tolerance, before or after. */
export function isNear(text: string, nowSec: number): boolean {
  return /^\d{9,11}$/.test(text) && Math.abs(Number(text) - nowSec) <= TOLERANCE_SEC;
}

/** A request to Alipay: `sign_type` is signed too (vendors/alipay). */
export function signAlipay(params: Iterable<readonly [string, string]>, key: RsaKey): string {
  return signRsa(joined(params, ["sign"]), key);
}

/** A notice of Alipay: neither `sign` nor `sign_type` is signed (vendors/alipay). The kind is ours to choose, not the message's. */
export function verifiesAlipayNotice(params: Params, key: RsaKey): boolean {
  return (
    params.get("sign_type") === "RSA2" && verifiesRsa(joined(params, UNSIGNED), params.get("sign") ?? "", key)
  );
}

/** Stripe's header, of which any v1 may match; both sides of the time are bounded (requirements Y23, vendors/stripe). */
export function verifiesStripe(
  body: Uint8Array,
  header: string,
  { secrets, nowSec }: { readonly secrets: readonly string[]; readonly nowSec: number },
): boolean {
  if (header.length > 4_096) return false;
  const parts = header.split(",").map((part) => part.trim().split("=", 2));
  const times = parts.filter(([name]) => name === "t").map(([, value = ""]) => value);
  const [time = ""] = times;
  if (times.length !== 1 || !isNear(time, nowSec)) return false;
  const given = parts.filter(([name]) => name === "v1").map(([, value = ""]) => value);
  const signed = Buffer.concat([Buffer.from(`${time}.`), body]);
  const expected = secrets
    .filter((secret) => secret !== "")
    .map((secret) => hmacSha256(secret, signed).toString("hex"));
  return given.some((value) => expected.some((one) => sameSignature(value, one)));
}

/** What WeChat Pay's requests are signed over (requirements Y31, vendors/wechat-pay). */
export function wechatRequestText(parts: {
  method: string;
  path: string;
  timestamp: string;
  nonce: string;
  body: string;
}): string {
  return `${parts.method}\n${parts.path}\n${parts.timestamp}\n${parts.nonce}\n${parts.body}\n`;
}

/** The signing headers of an answer or a callback of WeChat Pay. */
export interface WeChatSigned {
  readonly timestamp: string;
  readonly nonce: string;
  readonly signature: string;
  readonly serial: string;
  readonly body: Uint8Array;
}

/** `probe`: WeChat tests on purpose whether wrong signatures are refused (requirements Y32, vendors/wechat-pay). */
export function verifyWeChat(
  signed: WeChatSigned,
  keys: ReadonlyMap<string, RsaKey>,
  nowSec: number,
): "valid" | "probe" | "invalid" {
  const { timestamp, nonce, signature, serial, body } = signed;
  if (signature.startsWith("WECHATPAY/SIGNTEST/")) return "probe";
  const key = keys.get(serial);
  if (!key || nonce === "" || !isNear(timestamp, nowSec)) return "invalid";
  const text = Buffer.concat([Buffer.from(`${timestamp}\n${nonce}\n`), body, Buffer.from("\n")]);
  return verifiesRsa(text, signature, key) ? "valid" : "invalid";
}
