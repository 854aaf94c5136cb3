// Inlines media that a request gives by URL, for wires that take inline media only. The URL comes from a caller: it is fetched from
// public hosts only, without redirects, bounded in number, size, kind and time (requirements S05).
import type { Egress } from "#server/egress/dispatcher.ts";
import {
  type EgressFault,
  FaultError,
  type Flow,
  type ReplyHeaders,
  type Route,
} from "#server/egress/send.ts";
import { mediaTypeOf } from "#server/upstream/handlers/classify.ts";
import { type HubPart, type HubRequest, type MediaSource, Unmappable } from "#server/upstream/hub/request.ts";

/** Source: requirements S05. */
const ONE_LIMIT_BYTES = 10 * 1024 * 1024;
const ALL_LIMIT_BYTES = 32 * 1024 * 1024;
const TIMEOUT_MS = 10_000;
/** Source: vendors/gemini-request. */
const MEDIA_LIMIT = 16;
/** Allowed media types; an HTML error page is none of them. */
const MEDIA_TYPES = /^(image|audio|video)\/|^application\/pdf$/;
const WHAT = "messages[].content[]";

/** `route` is the channel's. */
type Fetcher = Pick<Egress, "send"> & { readonly route?: Route | undefined };

/** The bytes left for the media of this request. */
interface Budget {
  bytes: number;
}

/**
 * The request with its media inlined, except URLs that the upstream opens itself (`opens`). Throws: Unmappable; it names no URL and
 * tells nothing of the response. FaultError when the channel's proxy failed, which is not the caller's doing (requirements C13).
 */
export async function inlineMedia(
  egress: Fetcher,
  request: HubRequest,
  opens: (url: string) => boolean = () => false,
): Promise<HubRequest> {
  const urls = new Set<string>();
  for (const { parts } of request.messages)
    for (const part of parts)
      if ("source" in part && part.source.kind === "url" && !opens(part.source.url))
        urls.add(part.source.url);
  if (urls.size > MEDIA_LIMIT) throw new Unmappable(WHAT, `最多支持 ${MEDIA_LIMIT} 个网络图片或文件`);
  const budget = { bytes: ALL_LIMIT_BYTES };
  const fetched = new Map(
    await Promise.all([...urls].map(async (url) => [url, await fetchMedium(egress, url, budget)] as const)),
  );
  const inlined = (part: HubPart): HubPart => {
    if (!("source" in part) || part.source.kind !== "url") return part;
    const source = fetched.get(part.source.url);
    return source === undefined ? part : { ...part, source };
  };
  const messages = request.messages.map((message) => ({ ...message, parts: message.parts.map(inlined) }));
  return { ...request, messages };
}

function fetchMedium(egress: Fetcher, address: string, budget: Budget): Promise<MediaSource> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new Unmappable(WHAT, "图片或文件的地址无效");
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let mime = "";
    let isOver = false;
    // A refused address is reported before there is a call to abort.
    let flow: Flow | undefined;
    const fail = (fault?: EgressFault) => {
      isOver = true;
      clearTimeout(timer);
      flow?.abort();
      const isProxy = fault?.isProxy === true;
      reject(isProxy ? new FaultError(fault) : new Unmappable(WHAT, "无法读取该地址的图片或文件"));
    };
    const timer = setTimeout(() => fail(), TIMEOUT_MS);
    flow = egress.send(
      { ...orderFor(url), route: egress.route },
      {
        onStart(status: number, headers: ReplyHeaders) {
          mime = mediaTypeOf(headers);
          if (status !== 200 || !MEDIA_TYPES.test(mime)) fail();
        },
        onData(chunk: Buffer) {
          if (isOver) return;
          bytes += chunk.length;
          budget.bytes -= chunk.length;
          if (bytes > ONE_LIMIT_BYTES || budget.bytes < 0) fail();
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

function orderFor(url: URL): Parameters<Fetcher["send"]>[0] {
  return {
    method: "GET",
    origin: url.origin,
    path: url.pathname + url.search,
    headers: ["accept", "*/*", "user-agent", "Tollgate"],
    body: undefined,
    headersTimeoutMs: TIMEOUT_MS,
    idleTimeoutMs: TIMEOUT_MS,
    publicOnly: true,
  };
}
