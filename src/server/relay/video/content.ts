// Hands a video out: from where the upstream keeps it, through us, as fast as the client reads, with the ranges it asks for. Vendors' links
// expire; where they lead is judged like every other address (requirements C56).
import type { VideoWireName } from "#contract/video.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import type { Flow, ReplyHeaders } from "#server/egress/send.ts";
import type { ClientResponse } from "#server/relay/http/client-response.ts";
import type { RelayRequest } from "#server/relay/http/exchange.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import { readerOf } from "#server/relay/routing/failover.ts";
import type { Services } from "#server/relay/services.ts";
import { hasEnded, type TaskRow } from "#server/store/tasks.ts";
import { aboutTask, channelOfTask, TASK_SEAL } from "#server/tasks/channel.ts";
import { type About, outgoing } from "#server/upstream/call/outgoing.ts";
import { networkFault, type RelayFault } from "#server/upstream/errors/fault.ts";
import { callTask, taskDraft, taskUrl } from "#server/upstream/video/call.ts";
import { videoWires } from "#server/upstream/video/index.ts";

const MOST_REDIRECTS = 3;
const WAIT_MS = 60_000;
const MOST_BYTES = 4 * 1024 ** 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** The link has expired, or the vendor has deleted the video. */
const EXPIRED: ReadonlySet<number> = new Set([400, 401, 403, 404, 410]);
const SENT: ReadonlySet<number> = new Set([200, 206, 416]);
const PASSED = ["content-length", "content-range", "accept-ranges", "etag", "last-modified"] as const;
const NO_BODY = new Uint8Array();
const ACCEPT = ["accept", "*/*"];

interface Client {
  readonly req: RelayRequest;
  readonly response: ClientResponse;
}

/** Where a video is, and whether the channel's key goes there. */
interface Place {
  readonly url: URL;
  readonly isKeyed: boolean;
}

/** Throws: LocalError. */
export async function sendContent(services: Services, client: Client, row: TaskRow): Promise<void> {
  if (!hasEnded(row) || row.state !== "completed") throw new LocalError(localErrors.videoNotReady());
  const channel = await channelOfTask(services.ctx, row);
  if (channel === undefined)
    throw new LocalError(localErrors.ledgerUnavailable("the channel cannot be read"));
  if (channel === "gone" || row.result_sealed === "") throw new LocalError(localErrors.videoExpired());
  const about = aboutTask(services.ctx, channel, row, readerOf(client.req.headers));
  const asked = { channel, about };
  let place = await placeOf(services, asked, row);
  for (let step = 0; step <= MOST_REDIRECTS; step += 1) {
    const next = await fetchFrom(services, client, { ...asked, place });
    if (next === undefined) return;
    // A key is for its vendor's own address.
    place = { url: next, isKeyed: place.isKeyed && next.origin === place.url.origin };
  }
  throw new LocalError(localErrors.upstreamBroke());
}

interface Source {
  readonly channel: LiveChannel;
  readonly about: About;
}

/** Throws: LocalError. */
async function placeOf(
  { ctx, upstream }: Services,
  { channel, about }: Source,
  row: TaskRow,
): Promise<Place> {
  const wire = videoWires[row.wire as VideoWireName]; // what submitVideo wrote
  const result = ctx.secrets.open(row.result_sealed, TASK_SEAL);
  if (wire.content !== undefined)
    return { url: new URL(taskUrl(channel, wire.content(result).path)), isKeyed: true };
  if (wire.locate === undefined) return placed(result, wire.isKeyed === true);
  const answer = await callTask(upstream, channel, wire.locate(result), about);
  if (answer.kind === "failed") {
    const isExpired = EXPIRED.has(answer.fault.upstreamStatus);
    throw new LocalError(isExpired ? localErrors.videoExpired() : answer.fault);
  }
  const address = wire.located?.(answer.body) ?? "";
  if (address === "") throw new LocalError(localErrors.videoExpired());
  return placed(address, false);
}

function placed(address: string, isKeyed: boolean): Place {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new LocalError(localErrors.videoExpired());
  return { url, isKeyed };
}

/** Sends what is there to the client. Resolves with the address to go on to, or undefined when all is sent. Throws: LocalError. */
async function fetchFrom(
  services: Services,
  { req, response }: Client,
  { channel, about, place }: Source & { readonly place: Place },
): Promise<URL | undefined> {
  const { url, isKeyed } = place;
  const { range } = req.headers;
  const isRanged = typeof range === "string" && /^bytes=[\d, -]{1,100}$/.test(range);
  const wished = isRanged ? ["range", range] : [];
  const headers = isKeyed
    ? await keyedHeaders(services, { channel, about }, url, wished)
    : [...ACCEPT, "user-agent", "Tollgate", ...wished];
  const own = new URL(taskUrl(channel, "/"));
  return new Promise((resolve, reject) => {
    const piping = new Piping(url, response, { resolve, fail: (fault) => reject(new LocalError(fault)) });
    const flow = services.ctx.egress.send(
      {
        method: "GET",
        origin: url.origin,
        path: url.pathname + url.search,
        headers,
        body: undefined,
        headersTimeoutMs: WAIT_MS,
        idleTimeoutMs: WAIT_MS,
        route: channel.route,
        // What a vendor names is no address of the operator: inner ones are refused, whatever is allowed for channels.
        ...(url.origin !== own.origin && { publicOnly: true }),
      },
      piping,
    );
    piping.attach(flow);
  });
}

/** With the channel's key and its rules on headers, which may have the key, too: neither goes to another address. Throws: LocalError. */
async function keyedHeaders(
  { upstream }: Services,
  { channel, about }: Source,
  url: URL,
  headers: readonly string[],
): Promise<readonly string[]> {
  const draft = taskDraft(channel, { method: "GET", path: "", headers }, ACCEPT);
  const ready = await outgoing(upstream, channel, { ...draft, url: url.href }, about);
  if (ready.kind === "fault") throw new LocalError(ready);
  return ready.headers;
}

interface End {
  resolve(next: URL | undefined): void;
  fail(fault: RelayFault): void;
}

/** One answer of an upstream on its way to the client. */
class Piping {
  readonly #from: URL;
  readonly #response: ClientResponse;
  readonly #end: End;
  #flow: Flow | undefined;
  #isOver = false;
  #hasBegun = false;
  #bytes = 0;

  constructor(from: URL, response: ClientResponse, end: End) {
    this.#from = from;
    this.#response = response;
    this.#end = end;
  }

  attach(flow: Flow): void {
    this.#flow = flow;
    if (this.#isOver) flow.abort();
    this.#response.gone.watch(() => this.#stop(undefined));
  }

  onStart(status: number, headers: ReplyHeaders): void {
    const fault = faultOf(status, headers);
    if (REDIRECTS.has(status)) this.#redirect(headers);
    else if (fault !== undefined) this.#stop(fault);
    else {
      this.#hasBegun = true;
      this.#response.openBody(status, headOf(headers));
    }
  }

  onData(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#bytes += chunk.length;
    if (this.#bytes > MOST_BYTES) this.#stop(localErrors.upstreamBroke());
    else if (!this.#response.write(chunk)) {
      this.#flow?.pause();
      this.#response.onDrain(() => this.#flow?.resume());
    }
  }

  onEnd(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#response.closeStream(NO_BODY);
    this.#end.resolve(undefined);
  }

  onFault(fault: Parameters<typeof networkFault>[0]): void {
    if (!this.#isOver) this.#stop(networkFault(fault));
  }

  #redirect(headers: ReplyHeaders): void {
    const { location } = headers;
    const isAddress = typeof location === "string" && URL.canParse(location, this.#from);
    const next = isAddress ? new URL(location, this.#from) : undefined;
    if (next === undefined || !/^https?:$/.test(next.protocol)) this.#stop(localErrors.upstreamBroke());
    else {
      this.#isOver = true;
      this.#flow?.abort();
      this.#end.resolve(next);
    }
  }

  /** undefined = the client has left. */
  #stop(fault: RelayFault | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#flow?.abort();
    // What has begun is cut, so that the client does not take it for complete.
    if (this.#hasBegun) this.#response.hangUp();
    if (fault === undefined || this.#hasBegun) this.#end.resolve(undefined);
    else this.#end.fail(fault);
  }
}

/** Why an answer is no video; undefined = it is one, or a redirect. */
function faultOf(status: number, headers: ReplyHeaders): RelayFault | undefined {
  if (EXPIRED.has(status)) return localErrors.videoExpired();
  const isTooLong = Number(headers["content-length"] ?? 0) > MOST_BYTES;
  return SENT.has(status) && !isTooLong ? undefined : localErrors.upstreamBroke();
}

/** Of the upstream's headers those about the bytes; no type that a browser would run. */
function headOf(headers: ReplyHeaders): string[] {
  const type = headers["content-type"];
  const isMedia = typeof type === "string" && /^(video|audio|image)\/[\w.+-]+$/.test(type);
  const head = ["content-type", isMedia && !type.includes("svg") ? type : "video/mp4"];
  for (const name of PASSED) {
    const value = headers[name];
    if (typeof value === "string") head.push(name, value);
  }
  return head;
}
