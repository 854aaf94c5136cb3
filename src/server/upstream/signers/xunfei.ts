// Spark's WebSocket service: the credential is a signature of host, date and request line in the query. Source: vendors/spark-socket.
import { keyPartsOf } from "#contract/provider-key.ts";
import { hmacSha256 } from "#server/secrets.ts";
import { invalidKey } from "./invalid-key.ts";
import { checkParts } from "./plain.ts";
import { type CallSigner, inQuery } from "./signer.ts";

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
