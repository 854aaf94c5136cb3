// The parts of a request that cost prompt tokens (requirements W11.2, W11.4, T22.4). Pure; it fetches no image.
import type { EndpointName, GenerationEndpoint, TextEndpoint } from "#contract/providers.ts";
import { clients } from "#server/upstream/clients/index.ts";
import { chatBody } from "#server/upstream/hub/chat-body.ts";
import { Unmappable } from "#server/upstream/hub/request.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { type Countable, TOKENS_PER_BYTE } from "./counter.ts";
import { imageSize, imageTokens } from "./image.ts";

/** Each message has three framing tokens, the reply's start three more; a name costs one besides its text. */
const MESSAGE_TOKENS = 3;
const NAME_TOKENS = 1;
const REPLY_TOKENS = 3;
/** Each tool costs eight besides its JSON (requirements T22.4). */
const TOOL_TOKENS = 8;
/** About two seconds of speech; only the upstream knows the true length. */
const AUDIO_TOKENS = 100;
/** This much of a repeated question is counted exactly. */
const REPEATED_BYTES = 200 * 1024;

interface Tally {
  readonly texts: string[];
  fixedTokens: number;
  /** Images, audio and files: their tokens cannot be derived from their bytes. */
  media: number;
}

/** The priced parts of a request, and how many of its parts are media. */
export interface PromptParts extends Countable {
  readonly media: number;
}

/** Collects the parts of a request's prompt. Never throws, for any body. */
export function promptParts(endpoint: EndpointName, body: JsonRecord): PromptParts {
  const tally: Tally = { texts: [], fixedTokens: 0, media: 0 };
  known[endpoint]?.(tally, body);
  return tally;
}

type Add = (tally: Tally, body: JsonRecord) => void;

/** How the prompt of each endpoint is counted. */
const ADD: Readonly<Record<TextEndpoint, Add>> = {
  chat: addChat,
  completions: (tally, { prompt }) => addInput(tally, prompt),
  edits(tally, { input, instruction }) {
    addInput(tally, input);
    addInput(tally, instruction);
  },
  embeddings: (tally, { input }) => addInput(tally, input),
  messages: foreign("messages"),
  generate: foreign("generate"),
  responses: foreign("responses"),
  moderation: (tally, { input }) => addInput(tally, input),
  rerank: addRerank,
};
const known: Readonly<Partial<Record<EndpointName, Add>>> = ADD;

function foreign(endpoint: GenerationEndpoint): Add {
  return (tally, body) => {
    const chat = asChat(endpoint, body);
    if (chat === undefined) tally.texts.push(JSON.stringify(body));
    else addChat(tally, chat);
  };
}

/** A body of another format as a chat body; undefined = chat cannot express it. */
function asChat(endpoint: GenerationEndpoint, body: JsonRecord): JsonRecord | undefined {
  try {
    const request = clients[endpoint]?.parse(body, { model: "", isStream: false });
    return request && chatBody(request, { keepsThoughts: false }).body;
  } catch (error) {
    if (error instanceof Unmappable) return undefined;
    throw error;
  }
}

function addChat(tally: Tally, body: JsonRecord): void {
  tally.fixedTokens += REPLY_TOKENS;
  for (const message of listOf(body["messages"])) addMessage(tally, asObject(message));
  for (const tool of [...listOf(body["tools"]), ...listOf(body["functions"])]) {
    tally.fixedTokens += TOOL_TOKENS;
    tally.texts.push(JSON.stringify(tool));
  }
  const format = asObject(body["response_format"]);
  if (format?.["json_schema"] !== undefined) tally.texts.push(JSON.stringify(format["json_schema"]));
}

function addMessage(tally: Tally, message: JsonRecord | undefined): void {
  if (message === undefined) return;
  tally.fixedTokens += MESSAGE_TOKENS;
  const { role, content, name, tool_calls: toolCalls, tool_call_id: toolCallId } = message;
  for (const text of [role, name, toolCallId]) if (typeof text === "string") tally.texts.push(text);
  if (typeof name === "string") tally.fixedTokens += NAME_TOKENS;
  if (toolCalls !== undefined && toolCalls !== null) tally.texts.push(JSON.stringify(toolCalls));
  if (typeof content === "string") tally.texts.push(content);
  else for (const part of listOf(content)) addPart(tally, asObject(part));
}

function addPart(tally: Tally, part: JsonRecord | undefined): void {
  if (part === undefined) return;
  if (typeof part["text"] === "string") {
    tally.texts.push(part["text"]);
    return;
  }
  if (part["refusal"] !== undefined) {
    tally.texts.push(String(part["refusal"]));
    return;
  }
  tally.media += 1;
  const image = part["image_url"];
  if (image === undefined) {
    tally.fixedTokens += AUDIO_TOKENS;
    return;
  }
  const url = typeof image === "string" ? image : asObject(image)?.["url"];
  const detail = asObject(image)?.["detail"];
  tally.fixedTokens += imageTokens(typeof url === "string" ? imageSize(url) : undefined, detail === "low");
}

/** The query is counted with each document (vendors/rerank). */
function addRerank(tally: Tally, body: JsonRecord): void {
  const documents = listOf(body["documents"]);
  for (const document of documents) addInput(tally, document);
  const { query } = body;
  if (typeof query !== "string") return;
  const each = Buffer.byteLength(query);
  // Counting it once per document could take too long.
  if (each * documents.length > REPEATED_BYTES)
    tally.fixedTokens += documents.length * Math.ceil(each * TOKENS_PER_BYTE);
  else for (const _ of documents) tally.texts.push(query);
}

/** Strings count as text, arrays of strings too, arrays of numbers are tokens already (requirements W11.4). */
function addInput(tally: Tally, input: unknown): void {
  if (typeof input === "string") tally.texts.push(input);
  else if (typeof input === "number") tally.fixedTokens += 1;
  else if (Array.isArray(input)) for (const item of input) addInput(tally, item);
  else if (asObject(input) !== undefined) addPart(tally, asObject(input));
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
