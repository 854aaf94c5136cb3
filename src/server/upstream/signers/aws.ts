// Amazon's Signature Version 4 for Bedrock, or its API keys. Source: vendors/bedrock; AWS "Signing AWS API requests".
import { awsKeyOf } from "#contract/provider-key.ts";
import { hmacSha256, sha256Hex } from "#server/secrets.ts";
import { checkHeaderText } from "./plain.ts";
import { type CallSigner, invalidKey, type SignRequest } from "./signer.ts";

const SERVICE = "bedrock";

/** `AK|SK|Region` (a fourth part is a session token) → signed headers; `APIKey|Region` → Bearer. Each call is signed separately. */
export const awsSigv4: CallSigner = {
  kind: "call",
  check: (key) =>
    awsKeyOf(key) === undefined ? "密钥格式应为 AK|SK|Region 或 APIKey|Region" : checkHeaderText(key),

  sign(key, request) {
    const parts = awsKeyOf(key);
    if (parts === undefined || !URL.canParse(request.url)) return invalidKey("aws-sigv4");
    if (parts.kind === "api-key") return { headers: ["authorization", `Bearer ${parts.apiKey}`] };
    const { accessKey, secretKey, region, sessionToken } = parts;
    const { host } = new URL(request.url);
    const time = new Date(request.nowMs).toISOString().replace(/[-:]|\.\d+/g, "");
    // Sorted by name, as the canonical form requires.
    const headers: (readonly [name: string, value: string])[] = [
      ["content-type", "application/json"],
      ["host", host],
      ["x-amz-date", time],
    ];
    if (sessionToken !== "") headers.push(["x-amz-security-token", sessionToken]);
    const names = headers.map(([name]) => name).join(";");
    const scope = `${time.slice(0, 8)}/${region}/${SERVICE}/aws4_request`;
    const canonical = sha256Hex(canonicalRequest(request, headers, names));
    const text = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${canonical}`;
    const dateKey = hmacSha256(`AWS4${secretKey}`, time.slice(0, 8));
    const serviceKey = hmacSha256(hmacSha256(dateKey, region), SERVICE);
    const signature = hmacSha256(hmacSha256(serviceKey, "aws4_request"), text).toString("hex");
    const authorization = `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
    return {
      headers: [
        ...["authorization", authorization],
        ...["x-amz-date", time],
        ...(sessionToken === "" ? [] : ["x-amz-security-token", sessionToken]),
      ],
      secrets: [signature],
    };
  },
};

function canonicalRequest(
  { method, url, body }: SignRequest,
  headers: readonly (readonly [name: string, value: string])[],
  names: string,
): string {
  const { pathname, searchParams } = new URL(url);
  // The sent path is encoded once more: %3A becomes %253A.
  const path = pathname.split("/").map(encoded).join("/");
  const query = [...searchParams]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join("&");
  const lines = headers.map(([name, value]) => `${name}:${value}\n`).join("");
  return [method, path, query, lines, names, sha256Hex(body)].join("\n");
}

/** RFC 3986: everything but unreserved characters. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
