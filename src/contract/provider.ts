// The shape of a provider row, and how a row is read for one request. Types and pure functions; it holds no row.
import { type PlaceName, placed, placeOfKey, type WireTarget } from "./provider-place.ts";
import type { VideoWireName } from "./video.ts";
import { withoutEndSlashes } from "./wire.ts";

/**
 * The formats a client can ask for text in: OpenAI chat, its old completions, Anthropic Messages, Gemini generateContent, OpenAI
 * Responses. Any of them reaches any wire; where wire and format agree the bytes pass.
 */
export const GENERATION_ENDPOINTS = ["chat", "completions", "messages", "generate", "responses"] as const;
export type GenerationEndpoint = (typeof GENERATION_ENDPOINTS)[number];

/**
 * What a client can ask an upstream for. Not listed here = not relayed. In a row's paths `chat` is the address of the wire's own
 * generation, whatever its dialect; `messages`, `generate` and `responses` are further formats this upstream takes natively.
 */
export type EndpointName =
  | GenerationEndpoint
  | "count-tokens"
  | "edits"
  | "embeddings"
  | "realtime"
  | "images"
  | "image-edits"
  | "image-variations"
  | "speech"
  | "transcription"
  | "translation"
  | "moderation"
  | "rerank"
  | "models";

/** The endpoints that carry text and are billed by tokens. */
export type TextEndpoint =
  | GenerationEndpoint
  | Extract<EndpointName, "edits" | "embeddings" | "moderation" | "rerank">;

/** Path under the base URL per endpoint; an absent endpoint is one this upstream does not have. */
export type Paths = Readonly<Partial<Record<EndpointName, string>>>;

/** The wire an upstream speaks; one file of `upstream/dialects` each. */
export type DialectName =
  | "openai"
  | "azure"
  | "responses"
  | "anthropic"
  | "gemini"
  | "palm"
  | "baidu"
  | "zhipu"
  | "minimax"
  | "ali"
  | "xunfei"
  | "tencent"
  | "ollama"
  | "aiproxy"
  | "bedrock"
  | "converse"
  | "vertex-claude"
  | "cohere"
  | "coze"
  | "dify";

/** How the channel's key becomes a credential; one function of `upstream/signers` each. */
export type SignerName =
  | "bearer"
  | "azure-key"
  | "bearer-x-api-key"
  | "bearer-app-id"
  | "x-api-key"
  | "goog-key"
  | "baidu-token"
  | "zhipu-jwt"
  | "xunfei-url"
  | "xunfei-pair"
  | "tencent-tc3"
  | "aws-sigv4"
  | "vertex"
  | "kling-jwt"
  | "token";

/** The twelve tag colours of requirements B3. */
export type ProviderColor =
  | "green"
  | "black"
  | "olive"
  | "orange"
  | "blue"
  | "violet"
  | "teal"
  | "red"
  | "pink"
  | "purple"
  | "brown"
  | "yellow";

/** How a channel's stored balance number reads (requirements B9): dollars, yuan, yuan × 10000, or quota points. */
export type BalanceUnit = "usd" | "cny" | "cny/10000" | "quota";

/**
 * How the balance is asked for. `openai-billing`: GET {base}/v1/dashboard/billing/subscription and …/usage; balance =
 * hard_limit_usd − total_usage / 100. `field`: one GET of `url`, the balance is the number (or numeric string) at `field`.
 * Without a unit it can be asked for, but the console does not show it (requirements B9).
 */
export type Balance =
  | { readonly probe: "openai-billing"; readonly unit: BalanceUnit }
  | {
      readonly probe: "field";
      readonly unit?: BalanceUnit;
      /** Absolute, or a path under the channel's base URL. */
      readonly url: string;
      /** Dotted path in the JSON answer, e.g. `data.credit`; `name=value` is the entry of a list that says so, else its first. */
      readonly field: string;
      /** Dotted path of a number that is taken off. */
      readonly minus?: string;
      /** Where the key goes besides `Authorization: Bearer`: the query name `api_key`, or the header `Api-Key` instead of it. */
      readonly key?: "query:api_key" | "header:Api-Key";
    };

/** The meaning of the channel field `other` for this type (requirements T2.1, W13.1). */
interface OtherField {
  readonly label: string;
  /** Stands when the field is empty; the form shows it as the default. */
  readonly fallback: string;
  readonly hint: string;
  readonly required?: true;
}

/** Changes made to an OpenAI-shaped JSON body before it is sent. Order: rename, drop, clamp, zeros. */
export interface BodyEdits {
  /** Old name → new name at the top level. When both are present the new one stays as it is and the old one goes. */
  readonly renameFields?: Readonly<Record<string, string>>;
  /** Top-level fields removed; `messages[].name` removes `name` from every message. */
  readonly dropFields?: readonly string[];
  /** Top-level fields removed while `reasoning_effort` names an effort other than `none`: a model that thinks refuses them. */
  readonly dropWhenThinking?: readonly string[];
  /** The model thinks unless it is told not to: without a `reasoning_effort` it refuses those fields, too. */
  readonly thinksUnasked?: true;
  /** `temperature` is moved to the nearer bound when it lies outside [min, max]. */
  readonly clampTemperature?: readonly [min: number, max: number];
  /** `temperature` and `top_p` equal to 0 become this number. */
  readonly zeroAs?: number;
  /** Top-level fields that are set to `true` in a request with `tools`. */
  readonly trueWithTools?: readonly string[];
  /** `frequency_penalty` and `presence_penalty` equal to 0 are removed. */
  readonly rejectsZeroPenalties?: true;
  /** `stop` becomes a list of the first one alone. */
  readonly oneStop?: true;
  /** `user` goes by another name, and only when it is of this length; unit: characters. */
  readonly userAs?: { readonly name: string; readonly min: number; readonly max: number };
  /**
   * `reasoning_effort` becomes `thinking: {type}`: the vendor knows no more than enabled and disabled. `none`: that word alone does,
   * the others are the vendor's own.
   */
  readonly effortAsThinking?: true | "none";
  /** The words of `reasoning_effort` that the model knows, weakest first; another becomes the nearest stronger one. */
  readonly efforts?: readonly string[];
  /** An assistant's message that calls tools and says nothing says one space: empty content is refused. */
  readonly spaceForEmpty?: true;
}

/** Body edits for models whose upstream name starts with one of the prefixes; added to the edits of the row. */
interface ModelEdits extends BodyEdits {
  readonly prefixes: readonly string[];
  /**
   * Efforts at which the model takes tools in Chat, "" = none said; a request with tools and another one goes over Responses.
   * Absent = tools are taken at every effort.
   */
  readonly chatToolsAt?: readonly string[];
  /** The effort `max` is taken in Responses alone. */
  readonly noMaxInChat?: true;
}

/**
 * Where an upstream deviates from the wire of its dialect. Every field defaults to "no". Fields that change the request
 * come first; a row without an applicable one lets the client's bytes pass.
 */
export interface Quirks extends BodyEdits {
  readonly forModels?: readonly ModelEdits[];
  /** Top-level fields by which a call would be served at another price; removed in every format, whatever they say. */
  readonly priceFields?: readonly string[];
  /** Names that the catalogue and its users know → the wire's own. */
  readonly modelNames?: Readonly<Record<string, string>>;
  /** Models whose names begin so may end in an effort (`-high`): it goes into the request, and the name loses it. */
  readonly effortInName?: readonly string[];
  /** `stream_options` is removed and never added: the upstream rejects the field. Usage comes in its last chunk. */
  readonly noStreamOptions?: true;
  /**
   * Azure: `stream_options` is removed when the api-version in use is older than this one. Versions compare by their first ten
   * characters (a date); `v1` and `preview` are newer than every date.
   */
  readonly streamOptionsSince?: string;
  /** Azure: dots are removed from a deployment name that starts with one of these (gpt-3.5-turbo → gpt-35-turbo). */
  readonly deploymentDropsDots?: readonly string[];
  /** Request headers filled from an option; left out while that option is empty. */
  readonly headers?: Readonly<Record<string, "ServerAddress" | "SystemName">>;
  /**
   * `tool_calls[].id` and `tool_call_id` in the history that are not exactly this many letters and digits are replaced by a stable
   * hash of that length, the same for the same id.
   */
  readonly toolIdLength?: number;
  /** Thinking of earlier turns is sent back as `reasoning_content` when a request is translated: the vendor demands it. */
  readonly keepsThoughts?: true;

  /**
   * Its own Responses know the tools that a client runs as functions alone, but for models whose names begin so: a request with others
   * (tools that take text, shells, namespaces), which Codex sends, is translated to chat.
   */
  readonly functionToolsOnly?: { readonly but: readonly string[] };
  /** Pictures must stand in the request: those at addresses are fetched by us, and the request is written anew. */
  readonly inlinesMedia?: true;

  /**
   * A reply with status 200 can be a refusal. `base-resp`: `base_resp.status_code` is not 0, message in `base_resp.status_msg`.
   * `status-text`: `code` and `statusText` at the top level and no `choices`. `code`: a top-level `code` other than 0 and no `choices`.
   * An OpenAI `error` object is looked for everywhere anyway.
   */
  readonly errorIn200?: "base-resp" | "status-text" | "code";
  /** HTTP status that a code found in a 200 body stands for; a code between 400 and 599 stands for itself, others for 500. */
  readonly faultStatus?: Readonly<Record<string, number>>;
  /** `completion_tokens` leaves the reasoning out; the two are added, unless the total says that it is within. */
  readonly reasoningBeside?: true;
  /** The reply's usage is a placeholder (1/1/1 or zeros): ignore it and count locally, marked as estimated. */
  readonly usageUnreliable?: true;
  /** A second place of a stream chunk where usage may stand; the last non-null one seen wins. */
  readonly usageIn?: "choices[0].usage" | "x_groq.usage";
  /**
   * Content may be a list of parts, and an answer may end with words of the vendor's own: both are brought into OpenAI's form; an end
   * that means a failure is one.
   */
  readonly ownWords?: true;
  /**
   * Events with other names than these are the vendor's own details: they pass without a look, but for `error`. What a whole reply has
   * beside its choices is no generated text either.
   */
  readonly answerEvents?: readonly string[];
  /** The last stream event may be a whole `chat.completion`: take its usage and finish reason, never its text again. */
  readonly endsWithWholeReply?: true;
  /** Stream chunks without choices and without usage (Azure's prompt filter results) are not passed on: clients crash on them. */
  readonly dropsEmptyChunks?: true;
}

/** Holds when every given test holds; a list holds when one of its entries does. */
interface WireTest {
  /** Exact number of `|` in the key. */
  readonly keyBars?: number;
  readonly baseHas?: readonly string[];
  readonly baseEnds?: readonly string[];
  readonly modelPrefixes?: readonly string[];
  readonly otherIs?: readonly string[];
}

/** Everything needed to speak to an upstream. */
export interface Wire {
  /** "" = the operator must give one. Used when the channel has none. */
  readonly baseUrl: string;
  readonly dialect: DialectName;
  readonly signer: SignerName;
  readonly paths: Paths;
  readonly quirks?: Quirks;
}

/** Another wire of the same vendor, chosen by the look of the channel; what it leaves out is taken from the row. */
interface Alternate extends Partial<Wire> {
  readonly when: WireTest;
}

/** One channel type. */
export interface Provider extends Wire {
  /** Number on the wire and in the database (requirements B3). */
  readonly type: number;
  readonly slug: string;
  readonly label: string;
  readonly kind: "vendor" | "custom" | "knowledge" | "proxy";
  readonly color: ProviderColor;
  /** Placeholder of the address field; only where the default is missing or has moved. */
  readonly baseUrlHint?: string;
  readonly keyHint: string;
  /** Names of the `|`-separated parts that the row's own signer needs; a key without `|` may select an alternate. */
  readonly keyParts?: readonly string[];
  readonly keyOptional?: true;
  readonly other?: OtherField;
  /** Address and paths hold braces that this cloud fills from the key and `other`. */
  readonly place?: PlaceName;
  /** First match wins; none = the row itself (vendors/retired). */
  readonly alternates?: readonly Alternate[];
  /** How it makes videos; absent = it does not. */
  readonly video?: VideoWireName;
  /** Where it takes files and batches in OpenAI's form: the path before `/files` and `/batches`; absent = nowhere. */
  readonly batch?: string;
  /** Absent = the balance of this type cannot be asked for. */
  readonly balance?: Balance;
}

/** Whether channels of a type keep responses that are asked for later: OpenAI's own wire, where the path is the vendor's. */
export function keepsResponses({ dialect, paths }: Pick<Provider, "dialect" | "paths">): boolean {
  return dialect === "openai" && paths.responses !== undefined;
}

/** Tells which wire a channel of this provider speaks for this model. */
export function wireOf(provider: Provider, target: WireTarget): Wire {
  const alternate = provider.alternates?.find(({ when }) => holds(when, target));
  if (alternate === undefined) return placedWire(provider, provider.place, target);
  const { when: _, ...changes } = alternate;
  return placedWire({ ...wireParts(provider), ...changes }, provider.place, target);
}

/** What of a key `wireOf` depends on: with keys that look alike a channel has the same wires. */
export function keyLook({ alternates, place }: Provider, key: string): string {
  const hasBars = alternates?.some(({ when }) => when.keyBars !== undefined) === true;
  return `${hasBars ? barsIn(key) : ""} ${place === undefined ? "" : placeOfKey(key, place)}`;
}

function barsIn(key: string): number {
  return key.split("|").length - 1;
}

function placedWire(wire: Wire, place: PlaceName | undefined, target: WireTarget): Wire {
  if (place === undefined) return wire;
  const paths = Object.entries(wire.paths).map(([name, path]) => [name, placed(path, place, target)]);
  return { ...wire, baseUrl: placed(wire.baseUrl, place, target), paths: Object.fromEntries(paths) };
}

/** Collects the body edits that apply to a model; undefined = none, the body may pass as it is. */
export function editsFor(quirks: Quirks | undefined, model: string): BodyEdits | undefined {
  if (quirks === undefined) return undefined;
  const special = modelEdits(quirks, model);
  const renameFields = { ...quirks.renameFields, ...special?.renameFields };
  const dropFields = [...(quirks.dropFields ?? []), ...(special?.dropFields ?? [])];
  const others = LAST_WORD_EDITS.flatMap((name) => {
    const value = special?.[name] ?? quirks[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const edits: BodyEdits = {
    ...(Object.keys(renameFields).length > 0 && { renameFields }),
    ...(dropFields.length > 0 && { dropFields }),
    ...Object.fromEntries(others),
  };
  return Object.keys(edits).length > 0 ? edits : undefined;
}

/** What the row says of this very model. */
export function modelEdits({ forModels }: Quirks, model: string): ModelEdits | undefined {
  return forModels?.find(({ prefixes }) => startsWithOne(model, prefixes));
}

/** Edits of which the model's stand instead of the row's. */
const LAST_WORD_EDITS = [
  "dropWhenThinking",
  "thinksUnasked",
  "clampTemperature",
  "zeroAs",
  "trueWithTools",
  "rejectsZeroPenalties",
  "oneStop",
  "userAs",
  "effortAsThinking",
  "efforts",
  "spaceForEmpty",
] as const;

function wireParts({ baseUrl, dialect, signer, paths, quirks }: Provider): Wire {
  return { baseUrl, dialect, signer, paths, ...(quirks !== undefined && { quirks }) };
}

function holds(when: WireTest, target: WireTarget): boolean {
  const base = withoutEndSlashes(target.baseUrl);
  if (when.keyBars !== undefined && barsIn(target.key) !== when.keyBars) return false;
  if (when.baseHas !== undefined && !when.baseHas.some((part) => base.includes(part))) return false;
  if (when.baseEnds !== undefined && !when.baseEnds.some((end) => base.endsWith(end))) return false;
  if (when.modelPrefixes !== undefined && !startsWithOne(target.model, when.modelPrefixes)) return false;
  return when.otherIs === undefined || when.otherIs.includes(target.other);
}

function startsWithOne(text: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => text.startsWith(prefix));
}
