// Tencent Cloud's TC3-HMAC-SHA256 for the Hunyuan service. Source: vendors/tencent-tc3.
import { keyPartsOf } from "#contract/provider-key.ts";
import { hmacSha256, sha256Hex } from "#server/secrets.ts";
import { checkParts } from "./plain.ts";
import { type CallSigner, invalidKey, type SignRequest } from "./signer.ts";

const SERVICE = "hunyuan";
const VERSION = "2023-09-01";
const SIGNED_HEADERS = "content-type;host;x-tc-action";

/** `AppId|SecretId|SecretKey` → authorization and X-TC headers; valid for 300 seconds, so each call is signed. */
export const tencentTc3: CallSigner = {
  kind: "call",
  check: (key) => checkParts(key, ["AppId", "SecretId", "SecretKey"]),

  sign(key, request) {
    const [, secretId, secretKey] = keyPartsOf(key, 3) ?? [];
    if (secretId === undefined || secretKey === undefined || !URL.canParse(request.url))
      return invalidKey("tencent-tc3");
    const action = actionOf(request.body);
    const timestamp = String(Math.floor(request.nowMs / 1_000));
    const date = new Date(request.nowMs).toISOString().slice(0, 10);
    const scope = `${date}/${SERVICE}/tc3_request`;
    const canonical = sha256Hex(canonicalRequest(request, action));
    const text = `TC3-HMAC-SHA256\n${timestamp}\n${scope}\n${canonical}`;
    const dateKey = hmacSha256(`TC3${secretKey}`, date);
    const signingKey = hmacSha256(hmacSha256(dateKey, SERVICE), "tc3_request");
    const signature = hmacSha256(signingKey, text).toString("hex");
    const authorization = `TC3-HMAC-SHA256 Credential=${secretId}/${scope}, SignedHeaders=${SIGNED_HEADERS}, Signature=${signature}`;
    return {
      headers: [
        ...["authorization", authorization],
        ...["x-tc-action", action],
        ...["x-tc-version", VERSION],
        ...["x-tc-timestamp", timestamp],
      ],
      secrets: [signature],
    };
  },
};

function canonicalRequest({ method, url, body }: SignRequest, action: string): string {
  const { host, pathname, search } = new URL(url);
  const headers = `content-type:application/json\nhost:${host}\nx-tc-action:${action.toLowerCase()}\n`;
  return [method, pathname, search.slice(1), headers, SIGNED_HEADERS, sha256Hex(body)].join("\n");
}

/** Only a chat body has the field; within a JSON string its quotes would be escaped, so a search of the bytes suffices. */
function actionOf(body: Uint8Array): "ChatCompletions" | "GetEmbedding" {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes('"Messages":')
    ? "ChatCompletions"
    : "GetEmbedding";
}
