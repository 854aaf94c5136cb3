// What a vendor's interface for videos comes to: requests to send, and what its answers mean. Types and what they share; knows no channel,
// no money. An answer that is not understood is "unknown", never the end of a task (requirements C54).
import type { VideoSize } from "#contract/video.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";

/** What is wanted, as every wire can be asked for it. */
export interface VideoAsk {
  /** The upstream's name. */
  readonly model: string;
  readonly prompt: string;
  readonly seconds: number;
  /** undefined = the vendor's own. */
  readonly size: VideoSize | undefined;
  /** e.g. `720p`; "" = the vendor's own. */
  readonly resolution: string;
  /** The first picture: an address, or a data URL. undefined = from text alone. */
  readonly image: string | undefined;
  /** Of `VIDEO_HINTS`, as the client gave them. */
  readonly hints: JsonRecord;
}

/** Fields of vendors that do not change the price; others are refused. */
export const VIDEO_HINTS = ["negative_prompt", "seed", "watermark", "cfg_scale", "prompt_optimizer"] as const;

export interface VideoRequest {
  readonly method: "GET" | "POST" | "DELETE";
  /** Below the channel's address. */
  readonly path: string;
  readonly body?: JsonRecord | undefined;
  /** Pointers to what in the body decides the price: the channel's rules leave it as it is. */
  readonly fixed?: readonly string[];
  /** Names and values in turn. */
  readonly headers?: readonly string[];
}

/** What an upstream says of a task. */
export type Polled =
  | { readonly state: "queued" | "in_progress" | "unknown"; readonly progress?: number | undefined }
  | {
      readonly state: "done";
      /** Where the video is: an address, or what `locate` finds it by. */
      readonly result: string;
      /** What it reports to have made; undefined = it does not say. */
      readonly seconds?: number | undefined;
      readonly tokens?: number | undefined;
      /** Of text. */
      readonly usage?: JsonRecord | undefined;
    }
  | {
      readonly state: "failed" | "cancelled";
      readonly code: string;
      readonly message: string;
      /** Of text that came before. */
      readonly usage?: JsonRecord | undefined;
    };

export interface VideoWire {
  /** What is charged: LLM tokens as reported, or seconds. */
  readonly unit: "token" | "video";
  /** Where a request names none. Unit: seconds. */
  readonly usualSeconds: number;
  submit(ask: VideoAsk): VideoRequest & Required<Pick<VideoRequest, "fixed">>;
  /** What the task is asked for by, made of the upstream's id; "" = the answer has none. */
  taskId(body: JsonRecord, ask: Pick<VideoAsk, "image">): string;
  /** Why an answer with status 200 is a refusal; undefined = it is none. */
  refusal?(body: JsonRecord): { readonly code: string; readonly message: string } | undefined;
  poll(id: string): VideoRequest;
  polled(body: JsonRecord): Polled;
  /** Absent = the vendor knows no cancelling. */
  cancel?(id: string): VideoRequest;
  /** The video is fetched from the channel's own address with its key. */
  content?(id: string): VideoRequest;
  /** The video's address is asked for when it is fetched. */
  locate?(result: string): VideoRequest;
  located?(body: JsonRecord): string;
  /** The video's address needs the channel's key. */
  readonly isKeyed?: true;
}

/** The text at a path of names and places; "" = there is none. A number counts as its digits. */
export function textAt(body: unknown, ...path: readonly (string | number)[]): string {
  const value = valueAt(body, path);
  return typeof value === "string" ? value : Number.isSafeInteger(value) ? String(value) : "";
}

/** The number at a path, also one in a text; undefined = there is none. */
export function numberAt(body: unknown, ...path: readonly (string | number)[]): number | undefined {
  const value = valueAt(body, path);
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

function valueAt(body: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((value, name) => {
    if (typeof name === "number") return Array.isArray(value) ? value[name] : undefined;
    const object = asObject(value);
    return object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined;
  }, body);
}

/** What a vendor's words for the state mean; a word that is in no table is unknown. */
export type StateTable = ReadonlyMap<string, Polled["state"]>;

/** Reads a state by its table; what says more than the word is given by the others. */
export function readState(
  table: StateTable,
  word: string,
  parts: {
    readonly progress?: number | undefined;
    readonly result: string;
    readonly seconds?: number | undefined;
    readonly tokens?: number | undefined;
    readonly code: string;
    readonly message: string;
  },
): Polled {
  const state = table.get(word) ?? "unknown";
  const { progress, result, seconds, tokens, code, message } = parts;
  if (state === "failed" || state === "cancelled") return { state, code, message };
  // Done without a video is not done: the next look tells.
  if (state === "done") return result === "" ? { state: "unknown" } : { state, result, seconds, tokens };
  return { state, progress };
}

/** The proportions of a size as vendors name them; undefined = no size, or proportions of its own. */
export function aspectOf(size: VideoSize | undefined): string | undefined {
  if (size === undefined) return undefined;
  const ratio = size.width / size.height;
  return ASPECTS.find(([, value]) => Math.abs(ratio - value) < 0.02)?.[0];
}

const ASPECTS: readonly (readonly [name: string, value: number])[] = [
  ["16:9", 16 / 9],
  ["9:16", 9 / 16],
  ["1:1", 1],
  ["4:3", 4 / 3],
  ["3:4", 3 / 4],
  ["21:9", 21 / 9],
];

/** Those hints of a request that a vendor knows, by the vendor's names. */
export function hintsAs(hints: JsonRecord, names: Readonly<Record<string, string>>): JsonRecord {
  return Object.fromEntries(
    Object.entries(names).flatMap(([ours, theirs]) =>
      Object.hasOwn(hints, ours) ? [[theirs, hints[ours]] as const] : [],
    ),
  );
}
