// One request to one channel, the plan of the call, and its possible results. Types.
import {
  type BodyEdits,
  type EndpointName,
  GENERATION_ENDPOINTS,
  type GenerationEndpoint,
  type Provider,
  type Quirks,
  type Wire,
} from "#contract/provider.ts";
import type { RewriteFormat } from "#contract/rewrite.ts";
import type { Egress } from "#server/egress/dispatcher.ts";
import type { ReplyHeaders, Route } from "#server/egress/send.ts";
import type { Cancellation } from "#server/upstream/cancellation.ts";
import type { Dialect, Target } from "#server/upstream/dialects/dialect.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { Canary } from "#server/upstream/errors/mask.ts";
import type { ReplyOutput, ResponseHandler } from "#server/upstream/handlers/handler.ts";
import type { Effort } from "#server/upstream/hub/request.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import type { CallSigner } from "#server/upstream/signers/signer.ts";
import type { ClientBody } from "./body.ts";
import type { FormBody } from "./form.ts";

/** The part of a channel that concerns the wire. */
export interface UpstreamTarget {
  readonly provider: Provider;
  readonly key: string;
  /** "" = the default of the type. */
  readonly baseUrl: string;
  readonly other: string;
  /** Where everything to this upstream leaves: calls, token exchange, media (requirements C10). */
  readonly route?: Route | undefined;
  /** Which of several keys of `base`; 0 or absent = there is one. */
  readonly keyId?: number;
  /** What it is but for the key: plans are remembered there, one for all keys with which the wire is the same. */
  readonly base?: UpstreamTarget;
  /** What is changed in its requests; undefined = nothing. */
  readonly rewrite?: Rewriter | undefined;
  /** How long its calls may take; undefined = as all. */
  readonly times?: CallTimes | undefined;
}

/** Time limits of one upstream (requirements C41). Unit: ms; 0 = as all. */
export interface CallTimes {
  readonly connectMs: number;
  /** Of streams: until the first event. */
  readonly firstByteMs: number;
  /** Between two pieces of the body. */
  readonly idleMs: number;
  /** A call as a whole. */
  readonly totalMs: number;
}

/**
 * How far rules reach: into a client's `request` with all they do; into the `opening` of a conversation, which has no body, with headers and
 * refusals; into a `session`'s settings with what names a place in them; into a `control` call, of the gateway or about work that is under
 * way, with headers alone: a refusal there would leave that work, and its money, alone.
 */
export type Reach = "request" | "opening" | "session" | "control";

/** What rules may ask of a request to a channel, whatever it is for. */
export interface Subject {
  readonly target: Pick<UpstreamTarget, "key">;
  readonly endpoint: EndpointName | RewriteFormat;
  /** Upstream name, after the model mapping; "" = it is about no model. */
  readonly model: string;
  /** The name the client asked for. */
  readonly originModel: string;
  readonly isStream: boolean;
  /** Letters and digits unique to this request. */
  readonly seed: string;
  /** undefined = the gateway's own call, or the channel has no rules. */
  readonly facts?: CallFacts | undefined;
}

/** What a request would be without rules. */
export interface Unruled {
  readonly reach: Reach;
  /** undefined = it has none, or none that is JSON. */
  readonly body?: Uint8Array | undefined;
  /** The format of its body, which has a place for a system prompt. */
  readonly format?: string | undefined;
}

/** What rules make of it. */
export interface Ruled {
  readonly kind: "ruled";
  readonly body?: Uint8Array | undefined;
  /** Of all headers, names and values in turn; undefined = they stay. */
  readonly rehead?: ((headers: readonly string[]) => string[]) | undefined;
}

/** A channel's rules (`rewrite.ts`). */
export interface Rewriter {
  /** The most output that a rule may ask for; 0 = none asks for any (requirements C35). */
  readonly raisesTo: number;
  /** What they make of a request, or the refusal of one of them. */
  apply(subject: Subject, unruled: Unruled): Ruled | RelayFault;
  /** The status that a client is told of an upstream's error; undefined = as it is (requirements C38). */
  statusFor(status: number): number | undefined;
}

/** What rules may ask about a call; made only for channels with rules. */
export interface CallFacts {
  /** A header of the client, by its name in lower case. */
  header(name: string): string | undefined;
  /** From 1. */
  readonly attempt: number;
  readonly userId: number;
  /** What was set aside for output; undefined = as much as the model gives. */
  readonly maxTokens: number | undefined;
  /** Unit: ms since 1970. */
  readonly nowMs: number;
}

export interface Call extends Subject {
  readonly target: UpstreamTarget;
  readonly endpoint: EndpointName;
  readonly body: ClientBody;
  /** A stream that goes out as one JSON array (Gemini without `alt=sse`). */
  readonly isArray: boolean;
  readonly apiVersion: string;
  /** Headers of the client that belong to its format and go on to an upstream of the same format, names and values in turn. */
  readonly passHeaders: readonly string[];
  /** The client sent a form; `body` is empty then. */
  readonly form?: FormBody | undefined;
  /** Fields the client sent beyond its endpoint's schema, by their names; a wire takes those it knows, the rest is reported as dropped. */
  readonly hints?: JsonRecord | undefined;
  readonly cancellation: Cancellation;
  readonly trace: Trace;
  /** The upstream may keep the response. */
  readonly isStored?: boolean;
  /** The upstream has what the input refers to. */
  readonly isPinned?: boolean;
  /** A Responses conversation is to be made short: a path of its own, which no other format has. */
  readonly isCompact?: boolean;
}

/** Everything that is the same for each call of a channel, an endpoint and a model. */
export interface Plan {
  readonly kind: "plan";
  readonly way: Way;
  /** An additional format of the wire that resellers and old versions may lack; then the wire's own is used. undefined = the wire's own. */
  readonly beside: EndpointName | undefined;
  readonly dialect: Dialect;
  readonly wire: Wire;
  readonly target: Target;
  readonly url: string;
  readonly origin: string;
  readonly path: string;
  /** Names and values in turn; the credential included unless `signer` makes it. */
  readonly headers: string[];
  /** Makes the credential of each call; undefined = it is in the headers. */
  readonly signer: CallSigner | undefined;
  readonly quirks: Quirks | undefined;
  readonly edits: BodyEdits | undefined;
  /** The effort given in the model's name. */
  readonly effort: Effort | undefined;
  readonly takesStreamOptions: boolean;
  readonly route?: Route | undefined;
  /** Strings that no caller may read in an error or header: the credential, its parts, the host, and what a signer made of the key. */
  readonly secrets: string[];
  /** The credential and its parts to be masked in replies. */
  readonly credentials: readonly Canary[];
}

/** The inputs of a call's address. */
export type Addressed = Pick<Plan, "wire" | "dialect" | "target"> & { readonly endpoint: EndpointName };

/**
 * How a request reaches the wire, in ways/: on OpenAI's own (`pass`, `media`), in a foreign format that client and upstream
 * share (`native`), by way of the hub (`translate`), as texts for vectors (`embeddings`), as a text for pictures (`images`) or for speech
 * (`speech`), or as texts to be put in order (`rerank`).
 */
export interface Way {
  readonly name: "pass" | "media" | "native" | "translate" | "embeddings" | "images" | "rerank" | "speech";
  /** The endpoint called at the upstream, where it is not the client's. */
  readonly asks?: "chat";
  /** Absent = as the dialect has it. */
  address?(at: Addressed): string;
  /** Makes the bytes, and chooses the handler of the answer. Throws: Unmappable, RangeError. */
  prepare(tools: PrepareTools, call: Call, plan: Plan): Outcome | Promise<Outcome>;
  /** The answer may be an asynchronous task that is polled until it is done. */
  readonly mayBeTask?: true;
}

export interface PrepareTools {
  /** Unit: ms since 1970. */
  readonly now: () => number;
  /** Fetches media that are given by URL. */
  readonly egress: Pick<Egress, "send">;
}

export type Outcome = Prepared | RelayFault;

export const NOTHING: readonly string[] = [];

/** The request to send, and the handler of its response. */
export interface Prepared {
  readonly kind: "prepared";
  readonly bytes: Uint8Array;
  /** Beyond the plan's, names and values in turn. */
  readonly headers: readonly string[];
  /** Replaces the plan's content type; undefined = JSON. */
  readonly contentType?: string;
  /** What rules make of the headers, names and values in turn. */
  readonly rehead?: (headers: readonly string[]) => string[];
  readonly handler: ResponseHandler;
  readonly dropped: readonly string[];
}

/** A non-streamed response that is a valid reply. */
export interface WholeReply {
  readonly kind: "whole";
  readonly headers: ReplyHeaders;
  readonly body: Buffer;
  /** As the upstream reported it; undefined = it reported none. */
  readonly usage: JsonRecord | undefined;
  /** Of the provider row that answered; usage is read by them. */
  readonly quirks: Quirks | undefined;
  /** Strings that must not appear in a header that is passed on. */
  readonly secrets: readonly string[];
  /** Hints of the request that this upstream does not take. */
  readonly dropped: readonly string[];
  /** The result is not ready yet: the URL to poll. */
  readonly next?: string;
  /** The generated text, for counting tokens locally. */
  text(): string;
}

/** Receives a stream. No call comes after `onEnd`. */
export interface StreamListener {
  /** Bytes for the client: complete events. */
  onBytes(bytes: Uint8Array): void;
  /** undefined = the terminator came, or the stream ended after its finish reason; otherwise the stream broke. */
  onEnd(fault: RelayFault | undefined): void;
}

/** A stream whose first event has arrived and is no error. */
export interface StreamReply {
  readonly kind: "stream";
  readonly headers: ReplyHeaders;
  /** The output so far. */
  readonly output: ReplyOutput;
  /** The answer is complete, though perhaps not the stream: its reported usage is final. */
  readonly isFinished: boolean;
  /** The last usage the upstream has reported so far; undefined = none. */
  readonly usage: JsonRecord | undefined;
  readonly quirks: Quirks | undefined;
  readonly secrets: readonly string[];
  readonly dropped: readonly string[];
  text(): string;
  /** The bytes that end the stream, once it is complete. */
  tail(): Uint8Array;
  /** Starts delivery; bytes that were read already are delivered at once. */
  listen(listener: StreamListener): void;
  pause(): void;
  resume(): void;
  abort(): void;
}

/** State of a request's calls while they run. */
export interface Trace {
  /** When the first byte of any body arrived; 0 = none has. Unit: ms since 1970. */
  firstByteMs: number;
  /** A call was on the wire when the client left: the upstream may charge for it. */
  isSent: boolean;
}

export type Result = WholeReply | StreamReply | RelayFault;

const GENERATIONS: ReadonlySet<string> = new Set(GENERATION_ENDPOINTS);

/** Whether an endpoint is one of the text formats that can be translated for every wire. */
export function isGeneration(endpoint: EndpointName): endpoint is GenerationEndpoint {
  return GENERATIONS.has(endpoint);
}
