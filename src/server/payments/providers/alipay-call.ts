// The one way to call Alipay: each request signed, each answer verified over the bytes that were sent (vendors/alipay).
import type { Instance, ProviderDeps } from "#server/payments/provider.ts";
import { formBody } from "#server/payments/wire/form.ts";
import { rawMembers } from "#server/payments/wire/raw-json.ts";
import { signAlipay } from "#server/payments/wire/signatures.ts";
import { rsaPrivateKey, rsaPublicKey, verifiesRsa } from "#server/secrets/payment-crypto.ts";
import { callProvider, FORM, objectOf, problemOf, textOf } from "./call.ts";

const CN_OFFSET_SEC = 8 * 3600;

/** `yyyy-MM-dd HH:mm:ss` in Beijing. */
export function beijing(sec: number): string {
  return new Date((sec + CN_OFFSET_SEC) * 1000).toISOString().slice(0, 19).replace("T", " ");
}

type Biz = Readonly<Record<string, string>>;

/** A signed request; undefined = the account has no usable key. */
export function signedAlipay(
  instance: Instance,
  { method, biz, deps, isPage }: { method: string; biz: Biz; deps: ProviderDeps; isPage?: boolean },
): [string, string][] | undefined {
  const key = rsaPrivateKey(instance.secrets("private_key")[0] ?? "");
  if (!key) return undefined;
  const params: [string, string][] = [
    ["app_id", instance.field("app_id")],
    ["method", method],
    ["format", "JSON"],
    ["charset", "utf-8"],
    ["sign_type", "RSA2"],
    ["timestamp", beijing(deps.nowSec)],
    ["version", "1.0"],
    ["notify_url", deps.notifyUrl],
    ...(isPage ? ([["return_url", deps.returnUrl]] as [string, string][]) : []),
    ["biz_content", JSON.stringify(biz)],
  ];
  return [...params, ["sign", signAlipay(params, key)]];
}

export type AlipayAnswer =
  | {
      readonly kind: "answer";
      readonly code: string;
      readonly sub: string;
      readonly body: Record<string, unknown>;
    }
  | { readonly kind: "unclear"; readonly problem: string };

/** Calls Alipay and verifies its answer. Never throws. */
export async function alipayCall(
  instance: Instance,
  method: string,
  { biz, deps }: { biz: Biz; deps: ProviderDeps },
): Promise<AlipayAnswer> {
  const params = signedAlipay(instance, { method, biz, deps });
  if (!params) return { kind: "unclear", problem: "no usable key" };
  const url = `${instance.baseUrl}/gateway.do?charset=utf-8`;
  const result = await callProvider(deps, {
    method: "POST",
    url,
    headers: FORM,
    body: formBody(params),
  });
  if (result.kind === "fault" || result.status !== 200)
    return { kind: "unclear", problem: problemOf(result) };
  const members = rawMembers(result.text);
  const inner = members?.get(`${method.replaceAll(".", "_")}_response`);
  const key = rsaPublicKey(instance.field("platform_key"));
  const sign = textOf(objectOf(result.text)?.["sign"]);
  // Over the very bytes: the same JSON written otherwise has another signature (requirements Y30).
  if (inner === undefined || !key || !verifiesRsa(inner, sign, key))
    return { kind: "unclear", problem: "signature" };
  const body = objectOf(inner) ?? {};
  return { kind: "answer", code: textOf(body["code"]), sub: textOf(body["sub_code"]), body };
}

/** 20000 = the platform is not available, nothing is known. */
export function isPassing({ code, sub }: { code: string; sub: string }): boolean {
  return code === "20000" || code === "" || sub.endsWith("SYSTEM_ERROR");
}

/** Why an answer is no yes, in a word. */
export function named({ code, sub }: { code: string; sub: string }): string {
  return /^[\w.-]{1,60}$/.test(sub) ? sub : `code ${/^\d{1,6}$/.test(code) ? code : "?"}`;
}
