// What each of the relay's endpoints asks of a channel beside the model: whether its provider has it, how it is planned, whether it is read as a
// stream. The relay looks for channels by it, and the route explainer tells by it (requirements C47). Calls nothing.
import { type EndpointName, keepsResponses } from "#contract/provider.ts";
import { RELAY_ENDPOINTS, type RelayFormat } from "#contract/relay-endpoint.ts";
import type { Plan } from "#server/upstream/call/call.ts";
import type { LiveChannel } from "./live-channel.ts";

/** Requests whose tokens are counted. */
export type CountedFormat = "messages" | "generate";

/** Why a channel never serves such calls. */
export type Lack = "endpoint_absent";

export interface CallFormat {
  /** How a call is planned (upstream/call/plan.ts); undefined = the provider's own wire takes it. */
  readonly plan: { readonly endpoint: EndpointName; readonly isCompact?: true } | undefined;
  /** What strategies choose by; undefined = no other format is spoken there. */
  readonly endpoint: EndpointName | undefined;
  /** Most calls of it are read as they come. */
  readonly isStream: boolean;
  /** It is paid by the LLM token. */
  readonly isText: boolean;
  lacks(channel: LiveChannel): Lack | undefined;
  /**
   * It counts the tokens of such requests: nothing is paid for it, and no channel that rests is asked, since it is counted here where none
   * can. undefined = it does more.
   */
  readonly counts?: CountedFormat;
}

/** Channels of which an address for files turned out to be missing; asked again when they change. */
const withoutFiles = new WeakSet<object>();

/** Its upstream answered that it has no address for files. */
export function noteWithoutFiles(channel: LiveChannel): void {
  withoutFiles.add(channel.base ?? channel);
}

export function lacksBatches(channel: LiveChannel): Lack | undefined {
  const isThere = channel.provider.batch !== undefined && !withoutFiles.has(channel.base ?? channel);
  return isThere ? undefined : "endpoint_absent";
}

export function lacksVideos({ provider }: LiveChannel): Lack | undefined {
  return provider.video === undefined ? "endpoint_absent" : undefined;
}

export function lacksBackground({ provider }: LiveChannel): Lack | undefined {
  return keepsResponses(provider) ? undefined : "endpoint_absent";
}

/** Whether a channel that counts tokens counts those of such requests: each counts its own format only. */
export function isCountOf({ dialect, wire }: Plan, format: CountedFormat): boolean {
  return dialect.native === format || (format === "messages" && wire.paths.messages !== undefined);
}

function nothing(): undefined {
  return undefined;
}

const STREAMED: ReadonlySet<string> = new Set(["chat", "completions", "messages", "responses"]);

type OwnFormat = Extract<(typeof RELAY_ENDPOINTS)[number], { kind: "own" }>["name"];

const planned = (endpoint: EndpointName, isStream: boolean): CallFormat => ({
  ...{ plan: { endpoint }, endpoint, isStream, isText: true, lacks: nothing },
});

const counting = (counts: CountedFormat): CallFormat => ({
  ...{ plan: { endpoint: "count-tokens" }, endpoint: undefined, isStream: false, isText: false },
  ...{ lacks: nothing, counts },
});

const OWN: Readonly<Record<OwnFormat, CallFormat>> = {
  "count-messages": counting("messages"),
  "count-generate": counting("generate"),
  generate: planned("generate", true),
  embed: planned("embeddings", false),
  compact: { ...planned("responses", false), plan: { endpoint: "responses", isCompact: true } },
  background: { ...planned("responses", false), plan: undefined, lacks: lacksBackground },
  // The plan is that of its handshake; strategies know of no format.
  realtime: { ...planned("realtime", true), endpoint: undefined },
  videos: { plan: undefined, endpoint: undefined, isStream: false, isText: false, lacks: lacksVideos },
  batches: { plan: undefined, endpoint: undefined, isStream: false, isText: true, lacks: lacksBatches },
};

const FORMATS: ReadonlyMap<string, CallFormat> = new Map(
  RELAY_ENDPOINTS.map((row) => {
    if (row.kind === "own") return [row.name, OWN[row.name]];
    const format = planned(row.name, STREAMED.has(row.name));
    return [row.name, row.kind === "media" ? { ...format, isText: false } : format];
  }),
);

/** What calls in this format ask of a channel. */
export function callFormat(format: RelayFormat): CallFormat {
  const found = FORMATS.get(format);
  if (found === undefined) throw new Error(`no format ${format}`);
  return found;
}
