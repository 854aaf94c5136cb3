// Brings media that stand at an address into a request, for wires that take them inline only. Bounded in size, time and number; goes
// out by the same guarded door as everything else (reliability S01–S04).
import type { Egress } from "#server/egress/dispatcher.ts";
import type { ReplyHeaders } from "#server/egress/send.ts";
import { type HubPart, type HubRequest, type MediaSource, Unmappable } from "./hub-request.ts";
import { mediaTypeOf } from "./verdict.ts";

/** Unit: bytes; of one medium, and of all media of a request. */
const ONE_LIMIT_BYTES = 20 * 1024 * 1024;
const MEDIA_LIMIT = 32;
const TIMEOUT_MS = 20_000;

/** The request with all of its media inline. Throws: Unmappable, naming no address. */
export async function inlineMedia(egress: Pick<Egress, "send">, request: HubRequest): Promise<HubRequest> {
  const urls = new Set<string>();
  for (const { parts } of request.messages)
    for (const part of parts) if ("source" in part && part.source.kind === "url") urls.add(part.source.url);
  if (urls.size > MEDIA_LIMIT) throw new Unmappable("messages", `最多支持 ${MEDIA_LIMIT} 个网络图片或文件`);
  const fetched = new Map(
    await Promise.all([...urls].map(async (url) => [url, await fetchMedium(egress, url)] as const)),
  );
  const inlined = (part: HubPart): HubPart => {
    if (!("source" in part) || part.source.kind !== "url") return part;
    const source = fetched.get(part.source.url);
    return source === undefined ? part : { ...part, source };
  };
  const messages = request.messages.map((message) => ({ ...message, parts: message.parts.map(inlined) }));
  return { ...request, messages };
}

function fetchMedium(egress: Pick<Egress, "send">, address: string): Promise<MediaSource> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new Unmappable("messages[].content[].image_url", "图片地址无效");
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let mime = "";
    const fail = () => {
      clearTimeout(timer);
      flow.abort();
      reject(new Unmappable("messages[].content[].image_url", "无法读取该地址的图片或文件"));
    };
    const timer = setTimeout(() => fail(), TIMEOUT_MS);
    const flow = egress.send(
      {
        method: "GET",
        origin: url.origin,
        path: url.pathname + url.search,
        headers: ["accept", "*/*", "user-agent", "Tollgate"],
        body: undefined,
        headersTimeoutMs: TIMEOUT_MS,
        idleTimeoutMs: TIMEOUT_MS,
      },
      {
        onStart(status: number, headers: ReplyHeaders) {
          mime = mediaTypeOf(headers);
          // An error page is no picture.
          if (status !== 200 || mime === "" || mime === "text/html") fail();
        },
        onData(chunk: Buffer) {
          bytes += chunk.length;
          if (bytes > ONE_LIMIT_BYTES) fail();
          else chunks.push(chunk);
        },
        onEnd() {
          clearTimeout(timer);
          resolve({ kind: "data", mime, base64: Buffer.concat(chunks).toString("base64") });
        },
        onFault: fail,
      },
    );
  });
}
