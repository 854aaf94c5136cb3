// Zhipu: a JSON Web Token signed with the second half of the key, times in milliseconds. Source: vendors/zhipu, requirements T2.3.
import { cleanKey } from "#contract/provider-key.ts";
import { signJwt } from "#server/secrets.ts";
import { bearer, bearerAndXApiKey, checkHeaderText } from "./plain.ts";
import { type CallSigner, forgetTokens } from "./signer.ts";

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
