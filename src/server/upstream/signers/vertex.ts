// Vertex AI: a service account signs an assertion that Google exchanges for an access token. Source: vendors/vertex.
import { cleanKey, type ServiceAccount, serviceAccountOf } from "#contract/provider-key.ts";
import { rsaKeyOf, signJwt } from "#server/secrets.ts";
import { type CallSigner, forgetTokens, invalidKey, type Signed, secretsOf } from "./signer.ts";

const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const LIFETIME_SEC = 3_600;
/** A token of an hour is cached for 50 minutes. */
const AHEAD_MS = 600_000;
const API_KEY = /^[\w.-]+$/;
const FORM = "密钥应为 Google 服务账号的 JSON 密钥文件内容，或 API 密钥";

/** Service account JSON → OAuth token; any other key is an API key of express mode, which is sent in the query. */
export const vertex: CallSigner = {
  kind: "call",

  check(key) {
    const account = serviceAccountOf(key);
    if (account !== undefined) return isUsable(account) ? undefined : FORM;
    return API_KEY.test(cleanKey(key)) ? undefined : FORM;
  },

  sign(key, { url, nowMs }, { tokens, route }) {
    if (!URL.canParse(url)) return invalidKey("vertex");
    const account = serviceAccountOf(key);
    if (account === undefined) return API_KEY.test(cleanKey(key)) ? express(key, url) : invalidKey("vertex");
    const token = tokens.exchanged({
      id: `vertex\n${account.tokenUri}\n${account.clientEmail}\n${account.privateKey}`,
      aheadMs: AHEAD_MS,
      route,
      request() {
        const assertion = assertionOf(account, Math.floor(nowMs / 1_000));
        if (assertion === undefined) return invalidKey("vertex");
        const body = new URLSearchParams({ grant_type: GRANT, assertion }).toString();
        const headers = ["content-type", "application/x-www-form-urlencoded"];
        return { url: account.tokenUri, headers, body, secrets: [...secretsOf(key), assertion] };
      },
    });
    if (typeof token === "string") return signed(token);
    return token.then((result) => (typeof result === "string" ? signed(result) : result));
  },

  forget: forgetTokens,
};

function signed(token: string): Signed {
  return { headers: ["authorization", `Bearer ${token}`], secrets: [token] };
}

/** An API key of express mode, in the query. */
function express(key: string, url: string): Signed {
  const address = new URL(url);
  address.searchParams.set("key", cleanKey(key));
  return { headers: [], url: address.href };
}

/** The assertion that is exchanged; undefined when the key in the file cannot sign. */
function assertionOf(account: ServiceAccount, issuedSec: number): string | undefined {
  const key = rsaKeyOf(account.privateKey);
  if (key === undefined) return undefined;
  const { privateKeyId: kid, clientEmail: iss, tokenUri: aud } = account;
  const header = { alg: "RS256", typ: "JWT", ...(kid !== "" && { kid }) };
  return signJwt(header, { iss, scope: SCOPE, aud, iat: issuedSec, exp: issuedSec + LIFETIME_SEC }, key);
}

function isUsable({ privateKey, tokenUri }: ServiceAccount): boolean {
  return rsaKeyOf(privateKey) !== undefined && /^https?:/.test(tokenUri) && URL.canParse(tokenUri);
}
