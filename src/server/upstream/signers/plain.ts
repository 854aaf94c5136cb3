// Keys that are sent unchanged, each kind in the header its providers expect. No time, no request, no exchange.
import { cleanKey, keyPartsOf } from "#contract/provider-key.ts";
import type { FixedSigner, Signed } from "./signer.ts";

const NOTHING: Signed = { headers: [] };

/** A header can carry printable ASCII only; other characters were pasted by mistake. */
export function checkHeaderText(key: string): string | undefined {
  return /^[\x20-\x7e]*$/.test(cleanKey(key))
    ? undefined
    : "密钥含有不能用于请求头的字符，请检查是否粘贴完整";
}

/** A kind that puts the clean key into headers; no key, no headers. */
function plain(headersOf: (credential: string) => readonly string[]): FixedSigner {
  return {
    kind: "fixed",
    check: checkHeaderText,
    sign(key) {
      const credential = cleanKey(key);
      return credential === "" ? NOTHING : { headers: headersOf(credential) };
    },
  };
}

/** `Authorization: Bearer`; a provider that needs no key gets no header. */
export const bearer = plain((key) => ["authorization", `Bearer ${key}`]);

/** Azure's `api-key` header. Source: vendors/azure. */
export const azureKey = plain((key) => ["api-key", key]);

/** Google's header; preferred over `?key=`, which lands in logs. Source: vendors/gemini. */
export const googKey = plain((key) => ["x-goog-api-key", key]);

/**
 * Anthropic's header. OAuth tokens are bearer tokens; a key that is not Anthropic's own belongs to a compatible vendor, which may use
 * either header, so both are sent. Source: vendors/claude, vendors/claude-elsewhere.
 */
export const xApiKey = plain((key) => {
  if (key.startsWith("sk-ant-oat")) return ["authorization", `Bearer ${key}`];
  return key.startsWith("sk-ant-") ? ["x-api-key", key] : bothNames(key);
});

/** For the Anthropic-compatible addresses of vendors that speak OpenAI's wire elsewhere (vendors/claude-elsewhere). */
export const bearerAndXApiKey = plain(bothNames);

function bothNames(key: string): readonly string[] {
  return ["x-api-key", key, "authorization", `Bearer ${key}`];
}

/** Qianfan v2: `KEY`, or `KEY|APPID` whose second part goes to the header `appid`. Source: vendors/qianfan. */
export const bearerAppId = plain((key) => {
  const [credential, appId] = keyPartsOf(key, 2) ?? [key];
  return [...["authorization", `Bearer ${credential}`], ...(appId === undefined ? [] : ["appid", appId])];
});

/** Spark's HTTP service with the three parts of the WebSocket service: Bearer `APIKey:APISecret`. Source: vendors/spark, vendors/retired. */
export const xunfeiPair: FixedSigner = {
  kind: "fixed",
  check: (key) => checkParts(key, ["APPID", "APISecret", "APIKey"]),
  sign(key) {
    const [, secret, apiKey] = keyPartsOf(key, 3) ?? [];
    return { headers: ["authorization", `Bearer ${apiKey}:${secret}`], secrets: [`${apiKey}:${secret}`] };
  },
};

/** A key of several parts must have them all (requirements T2.4). */
export function checkParts(key: string, names: readonly string[]): string | undefined {
  return keyPartsOf(key, names.length) === undefined
    ? `密钥格式应为 ${names.join("|")}`
    : checkHeaderText(key);
}
