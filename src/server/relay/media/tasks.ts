// Requests for pictures and sound: read from a JSON body or a form, checked as requirements W12 says, and counted for the price. Reads
// no database.
import { isUtf8 } from "node:buffer";
import { type ImageKind, unlistedPart } from "#contract/image-prices.ts";
import type { MediaEndpoint } from "#contract/relay-endpoint.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import {
  foldedName,
  hasTwins,
  type IncomingRequest,
  type Outside,
  type TaskFacts,
} from "#server/relay/text/incoming.ts";
import { type FormBody, fieldText, readForm } from "#server/upstream/call/form.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { wholeObject } from "#server/upstream/json/object.ts";
import { newTally } from "#server/upstream/json/scan.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { HEAD_BYTES, soundSeconds } from "./sound.ts";

/** Source: requirements W8.1, W12.1, W12.3. */
const DEFAULT_MODELS: Readonly<Partial<Record<MediaEndpoint, string>>> = {
  images: "dall-e-2",
  "image-edits": "dall-e-2",
  "image-variations": "dall-e-2",
  transcription: "whisper-1",
  translation: "whisper-1",
};
const SPEECH_LIMIT = 4_096;
const SUBTITLES: ReadonlySet<string> = new Set(["srt", "vtt"]);
const FORMATS: ReadonlySet<string> = new Set(["json", "text", "srt", "verbose_json", "vtt", "diarized_json"]);
/** The limits of a prompt in characters, and of pictures at once. */
const IMAGE_LIMITS: ReadonlyMap<string, readonly [characters: number, images: number]> = new Map([
  ["dall-e-2", [1_000, 10]],
  ["dall-e-3", [4_000, 1]],
]);
const MOST_IMAGES = 10;

/** Values by name, from a body or a form. */
interface Fields {
  text(name: string): string | undefined;
  number(name: string): number | undefined;
  flag(name: string): boolean;
}

/** Reads a request. Throws: LocalError with status 400. */
export async function readTask(
  outside: Outside & { readonly endpoint: MediaEndpoint },
  bytes: Buffer,
  contentType: string,
): Promise<IncomingRequest> {
  if (!contentType.startsWith("multipart/form-data")) return fromJson(outside, bytes);
  const form = await readForm(bytes, contentType);
  if (form === undefined) throw new LocalError(localErrors.formUnreadable());
  if (hasTwinFields(form)) throw new LocalError(localErrors.keysRepeated());
  const object = wholeObject(EMPTY_BODY);
  if (object === undefined) throw new Error("no object");
  const body = { bytes: EMPTY_BODY, object, model: fieldText(form, "model") };
  return incomingOf(outside, { body, form, fields: formFields(form) });
}

/** Fields that may occur once only: some upstreams would read the first, others the last. */
const SINGLE = new Set(
  "model n size quality prompt input file stream stream_format response_format service_tier".split(" "),
);

/** Whether two parsers could see different values of these: as in a JSON body (`hasTwins`), a name in other letters may be one to some. */
function hasTwinFields({ fields }: FormBody): boolean {
  const names = [...fields.keys()].filter((name) => SINGLE.has(foldedName(name)));
  return new Set(names).size < names.length || names.some((name) => !SINGLE.has(name));
}

const EMPTY_BODY = Buffer.from("{}");

function fromJson(
  outside: Outside & { readonly endpoint: MediaEndpoint },
  bytes: Buffer,
): Promise<IncomingRequest> {
  const object = isUtf8(bytes) ? wholeObject(bytes) : undefined;
  const values = object && asObject(JSON.parse(bytes.toString()));
  if (object === undefined || values === undefined) throw new LocalError(localErrors.bodyUnreadable());
  if (hasTwins(object)) throw new LocalError(localErrors.keysRepeated());
  const body = { bytes, object, model: values["model"] };
  return incomingOf(outside, { body, form: undefined, fields: jsonFields(values) });
}

interface Contents {
  readonly body: IncomingRequest["body"];
  readonly form: FormBody | undefined;
  readonly fields: Fields;
}

async function incomingOf(
  outside: Outside & { readonly endpoint: MediaEndpoint },
  { body, form, fields }: Contents,
): Promise<IncomingRequest> {
  const { endpoint, deployment, apiVersion, passHeaders } = outside;
  const named = deployment ?? fields.text("model") ?? outside.pathModel;
  const model = named ?? DEFAULT_MODELS[endpoint];
  if (model === undefined || model === "") throw new LocalError(localErrors.fieldMissing("model"));
  const task = await factsOf(endpoint, model, { form, fields });
  const isStreamAsked = fields.flag("stream") || fields.text("stream_format") === "sse";
  return {
    endpoint,
    body,
    form,
    model,
    isModelDefault: named === undefined,
    isStream: isStreamAsked || endpoint === "speech",
    isTimed: !isStreamAsked,
    isArray: false,
    passHeaders,
    session: "",
    apiVersion,
    maxTokens: undefined,
    choices: 1,
    tally: newTally(),
    task,
  };
}

function factsOf(
  endpoint: MediaEndpoint,
  model: string,
  { form, fields }: Omit<Contents, "body">,
): TaskFacts | Promise<TaskFacts> {
  switch (endpoint) {
    case "images":
    case "image-edits":
    case "image-variations":
      return imageFacts(endpoint, model, fields);
    case "speech": {
      const text = fields.text("input") ?? "";
      if (text === "") throw new LocalError(localErrors.fieldMissing("input"));
      if (isLonger(text, SPEECH_LIMIT)) throw new LocalError(localErrors.textTooLong(SPEECH_LIMIT));
      return { kind: "speech", text };
    }
    case "transcription":
    case "translation":
      return soundFacts(form, fields);
    default:
      throw new Error(`unknown task ${endpoint satisfies never}`);
  }
}

/** Whether a text has more characters than this; a character is one or two units. */
function isLonger(text: string, characters: number): boolean {
  return text.length > characters * 2 || (text.length > characters && [...text].length > characters);
}

function imageFacts(endpoint: MediaEndpoint, model: string, fields: Fields): TaskFacts {
  const prompt = fields.text("prompt") ?? "";
  if (prompt === "" && endpoint !== "image-variations") throw new LocalError(localErrors.promptMissing());
  const [characters, most] = IMAGE_LIMITS.get(model) ?? [Number.POSITIVE_INFINITY, MOST_IMAGES];
  if (isLonger(prompt, characters)) throw new LocalError(localErrors.promptTooLong(characters));
  const images = fields.number("n") ?? 1;
  if (!Number.isInteger(images) || images < 1 || images > most)
    throw new LocalError(localErrors.imagesOutOfRange(most));
  const size = fields.text("size") ?? "";
  const quality = fields.text("quality") ?? "";
  const fault = pictureFault(model, { size, quality });
  if (fault !== undefined) throw new LocalError(fault);
  return { kind: "images", images, size, quality, prompt };
}

/** Why a picture has no price with this model; undefined = it has one. */
export function pictureFault(model: string, kind: ImageKind): RelayFault | undefined {
  switch (unlistedPart(model, kind)) {
    case "size":
      return localErrors.sizeUnknown(kind.size);
    case "quality":
      return localErrors.qualityUnknown(kind.quality);
    default:
      return undefined;
  }
}

async function soundFacts(form: FormBody | undefined, fields: Fields): Promise<TaskFacts> {
  const file = form?.fields.get("file");
  if (form === undefined || !(file instanceof File)) throw new LocalError(localErrors.fieldMissing("file"));
  const format = fields.text("response_format") ?? "json";
  if (!FORMATS.has(format)) throw new LocalError(localErrors.fieldInvalid("response_format"));
  const head = Buffer.from(await file.slice(0, HEAD_BYTES).arrayBuffer());
  const seconds = soundSeconds(head, file.size);
  return { kind: "sound", bytes: file.size, seconds, hasStamps: SUBTITLES.has(format) };
}

function jsonFields(values: JsonRecord): Fields {
  const of = (name: string) => values[name] ?? undefined;
  return {
    text(name) {
      const value = of(name);
      if (value !== undefined && typeof value !== "string")
        throw new LocalError(localErrors.fieldInvalid(name));
      return value;
    },
    number(name) {
      const value = of(name);
      if (value !== undefined && typeof value !== "number")
        throw new LocalError(localErrors.fieldInvalid(name));
      return value;
    },
    flag: (name) => of(name) === true,
  };
}

/** What every parser reads as the same number. */
const DIGITS = /^[1-9]\d{0,3}$/;

function formFields(form: FormBody): Fields {
  const text = (name: string) => {
    const value = fieldText(form, name);
    // Sent as a file: some parsers read it all the same.
    if (value === undefined && form.fields.has(name)) throw new LocalError(localErrors.fieldInvalid(name));
    return value;
  };
  return {
    text,
    number(name) {
      const digits = text(name);
      if (digits === undefined || digits === "") return undefined;
      return DIGITS.test(digits) ? Number(digits) : Number.NaN;
    },
    flag: (name) => text(name) === "true",
  };
}
