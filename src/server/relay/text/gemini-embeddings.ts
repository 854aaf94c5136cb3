// Gemini's embedContent and batchEmbedContents (vendors/gemini-embeddings, vendors/gemini-clients) as embeddings: translated to OpenAI's
// body on arrival, so that every channel with embeddings can serve them, and answered in Gemini's shape.

import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { EmbedKind } from "#server/relay/http/routes.ts";
import type { StreamReply, WholeReply } from "#server/upstream/call/call.ts";
import { camel, member, objectMember, objectsMember } from "#server/upstream/clients/generate-fields.ts";
import { unmappableFault } from "#server/upstream/errors/fault.ts";
import { wholeObject } from "#server/upstream/json/object.ts";
import { asList, asObject, asText, type JsonRecord, readJson } from "#server/upstream/json/values.ts";

export interface EmbedAsked {
  /** OpenAI's embeddings body. */
  readonly bytes: Buffer;
  /** Fields that only Google's models understand: `taskType` and `title`. */
  readonly hints: JsonRecord | undefined;
}

/** Fields that may differ between the texts of a batch only if nothing is lost by it. */
const COMMON = ["taskType", "title", "outputDimensionality"] as const;
const READ: ReadonlySet<string> = new Set(["model", "content", ...COMMON]);

/** The body of an embeddings request in OpenAI's format. Throws: LocalError 400. */
export function readEmbed(kind: EmbedKind, body: Buffer, model: string): EmbedAsked {
  // Also refused when it is too deep to be serialised again.
  const values = wholeObject(body) && readJson(body.toString());
  if (values === undefined) throw new LocalError(localErrors.bodyUnreadable());
  const requests = kind === "one" ? [values] : objectsMember(values, "requests");
  const [first] = requests;
  if (first === undefined) throw new LocalError(localErrors.fieldMissing("requests"));
  const common = commonOf(first);
  if (requests.some((request) => JSON.stringify(commonOf(request)) !== JSON.stringify(common)))
    throw new LocalError(unmappableFault("requests", "同一批次中的参数必须相同"));
  const { outputDimensionality: dimensions, ...hints } = common;
  const input = requests.map(textOf);
  const bytes = Buffer.from(
    JSON.stringify({ model, input, ...(dimensions !== undefined && { dimensions }) }),
  );
  return { bytes, hints };
}

function commonOf(request: JsonRecord): JsonRecord {
  const unknown = Object.keys(request).find((name) => !READ.has(camel(name)));
  if (unknown !== undefined) throw new LocalError(unmappableFault(unknown, "不支持该参数"));
  return Object.fromEntries(
    COMMON.flatMap((name) => {
      const value = member(request, name);
      return value === undefined || value === null ? [] : [[name, value]];
    }),
  );
}

function textOf(request: JsonRecord): string {
  const content = objectMember(request, "content");
  const parts = content === undefined ? [] : objectsMember(content, "parts");
  if (parts.length === 0) throw new LocalError(localErrors.fieldMissing("content"));
  return parts
    .map((part) => {
      const text = asText(part["text"]);
      if (text === undefined) throw new LocalError(unmappableFault("content.parts[]", "只支持文本输入"));
      return text;
    })
    .join("\n");
}

/** OpenAI's list of vectors in Gemini's shape. */
export function renderEmbed(kind: EmbedKind, reply: WholeReply | StreamReply): WholeReply | StreamReply {
  if (reply.kind === "stream") return reply;
  const list = readJson(reply.body.toString()) ?? {};
  const embeddings = asList(list["data"]).map((item) => ({ values: asObject(item)?.["embedding"] }));
  const body = Buffer.from(JSON.stringify(kind === "one" ? { embedding: embeddings[0] } : { embeddings }));
  return { ...reply, body };
}
