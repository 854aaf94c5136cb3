// Keys that are sent unchanged, each kind in the header its providers expect. No time, no request, no exchange.
import { cleanKey, keyPartsOf } from "#contract/provider-key.ts";
import { hmacSha256, signJwt } from "#server/secrets.ts";
import {
  type CallSigner,
  type FixedSigner,
  forgetTokens,
  inQuery,
  invalidKey,
  type Signed,
  secretsOf,
} from "./signer.ts";

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

/** Vidu's scheme. Source: vendors/video-vidu. */
export const token = plain((key) => ["authorization", `Token ${key}`]);

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

// Zhipu: a JSON Web Token signed with the second half of the key, times in milliseconds. Source: vendors/zhipu, requirements T2.3.

const LIFETIME_MS = 86_400_000;
const AHEAD_MS = 300_000;
const HEADER = { alg: "HS256", sign_type: "SIGN", typ: "JWT" };

/** `id.secret` → Bearer JWT valid for a day. A key without exactly one dot is sent unchanged; so is any key to the Anthropic address. */
export const zhipuJwt: CallSigner = {
  kind: "call",
  check: checkHeaderText,

  sign(key, { url }, { tokens }) {
    const credential = cleanKey(key);
    if (url.includes("/anthropic/")) return bearerAndXApiKey.sign(credential);
    const [id = "", secret = "", ...more] = credential.split(".");
    if (id === "" || secret === "" || more.length > 0) return bearer.sign(credential);
    const token = tokens.made({
      id: `zhipu\n${credential}`,
      aheadMs: AHEAD_MS,
      make: (nowMs) => {
        const claims = { api_key: id, exp: nowMs + LIFETIME_MS, timestamp: nowMs };
        return { text: signJwt(HEADER, claims, secret), lifetimeMs: LIFETIME_MS };
      },
    });
    return { headers: ["authorization", `Bearer ${token}`], secrets: [token] };
  },

  // Made here: the next call gets a new one in case the clock was wrong, but an immediate retry would only repeat the refusal.
  forget(used, tools) {
    forgetTokens(used, tools);
    return false;
  },
};

// Kling: a JSON Web Token for half an hour, times in seconds. Source: vendors/video-kling.

const KLING_SEC = 1_800;
const KLING_BEFORE_SEC = 5;

/** `AccessKey|SecretKey` → Bearer JWT. */
export const klingJwt: CallSigner = {
  kind: "call",
  check: (key) => checkParts(key, ["AccessKey", "SecretKey"]),
  sign(key, _request, { tokens }) {
    const [issuer, secret] = keyPartsOf(key, 2) ?? [];
    if (issuer === undefined || secret === undefined) return invalidKey("kling-jwt");
    const made = tokens.made({
      id: `kling\n${cleanKey(key)}`,
      aheadMs: AHEAD_MS,
      make: (nowMs) => {
        const nowSec = Math.floor(nowMs / 1000);
        const claims = { iss: issuer, exp: nowSec + KLING_SEC, nbf: nowSec - KLING_BEFORE_SEC };
        return { text: signJwt({ alg: "HS256", typ: "JWT" }, claims, secret), lifetimeMs: KLING_SEC * 1000 };
      },
    });
    return { headers: ["authorization", `Bearer ${made}`], secrets: [made] };
  },
};

// Spark's WebSocket service: the credential is a signature of host, date and request line in the query. Source: vendors/spark-socket.

/** `APPID|APISecret|APIKey` → signed URL, valid for 300 seconds: made for each call. */
export const xunfeiUrl: CallSigner = {
  kind: "call",
  check: (key) => checkParts(key, ["APPID", "APISecret", "APIKey"]),

  account: (key) => keyPartsOf(key, 3)?.[0],

  sign(key, { method, url, nowMs }) {
    const [, apiSecret, apiKey] = keyPartsOf(key, 3) ?? [];
    if (apiSecret === undefined || apiKey === undefined || !URL.canParse(url))
      return invalidKey("xunfei-url");
    const address = new URL(url);
    const { host, pathname } = address;
    const date = new Date(nowMs).toUTCString();
    const text = `host: ${host}\ndate: ${date}\n${method} ${pathname} HTTP/1.1`;
    const signature = hmacSha256(apiSecret, text).toString("base64");
    const origin = `hmac username="${apiKey}", algorithm="hmac-sha256", headers="host date request-line", signature="${signature}"`;
    const authorization = Buffer.from(origin).toString("base64");
    address.search = new URLSearchParams({ authorization, date, host }).toString();
    return { headers: [], url: address.href, secrets: [...inQuery(authorization), signature] };
  },
};

// Baidu classic: the key is exchanged for an access token in the query. Source: vendors/baidu.

/** Renewed in the background when less than an hour is left (requirements T2.3). */
const BAIDU_AHEAD_MS = 3_600_000;

/** `APIKey|SecretKey` → `?access_token=`. */
export const baiduToken: CallSigner = {
  kind: "call",
  check: (key) => checkParts(key, ["APIKey", "SecretKey"]),

  sign(key, { url }, { tokens, route }) {
    const [apiKey, secretKey] = keyPartsOf(key, 2) ?? [];
    if (apiKey === undefined || secretKey === undefined || !URL.canParse(url))
      return invalidKey("baidu-token");
    const base = baseOf(url);
    const token = tokens.exchanged({
      id: `baidu\n${base}\n${key}`,
      aheadMs: BAIDU_AHEAD_MS,
      route,
      request() {
        const query = new URLSearchParams({
          grant_type: "client_credentials",
          client_id: apiKey,
          client_secret: secretKey,
        });
        return { url: `${base}/oauth/2.0/token?${query}`, headers: [], body: "", secrets: secretsOf(key) };
      },
    });
    if (typeof token === "string") return signed(url, token);
    return token.then((result) => (typeof result === "string" ? signed(url, result) : result));
  },

  forget: forgetTokens,
};

function signed(url: string, token: string): Signed {
  const address = new URL(url);
  address.searchParams.set("access_token", token);
  return { headers: [], url: address.href, secrets: inQuery(token) };
}

/** The channel's base URL: tokens are exchanged at the host that uses them. */
function baseOf(url: string): string {
  const { origin, pathname } = new URL(url);
  const end = pathname.indexOf("/rpc/2.0/");
  return origin + (end < 0 ? "" : pathname.slice(0, end));
}
