// Baidu classic: the key is exchanged for an access token in the query. Source: vendors/baidu.
import { keyPartsOf } from "#contract/provider-key.ts";
import { invalidKey } from "./invalid-key.ts";
import { checkParts } from "./plain.ts";
import { type CallSigner, forgetTokens, inQuery, type Signed, secretsOf } from "./signer.ts";

/** Renewed in the background when less than an hour is left (requirements T2.3). */
const AHEAD_MS = 3_600_000;

/** `APIKey|SecretKey` → `?access_token=`. */
export const baiduToken: CallSigner = {
  kind: "call",
  check: (key) => checkParts(key, ["APIKey", "SecretKey"]),

  sign(key, { url }, { tokens }) {
    const [apiKey, secretKey] = keyPartsOf(key, 2) ?? [];
    if (apiKey === undefined || secretKey === undefined || !URL.canParse(url))
      return invalidKey("baidu-token");
    const base = baseOf(url);
    const token = tokens.exchanged({
      id: `baidu\n${base}\n${key}`,
      aheadMs: AHEAD_MS,
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
