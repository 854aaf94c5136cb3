// Parts of messages → Converse's content blocks (vendors/bedrock; AWS API reference, ContentBlock). Pure.

import { type HubPart, type MediaSource, Unmappable } from "#server/upstream/hub/request.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";

/** Media types → Converse's names of formats. */
const IMAGES: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/jpg": "jpeg",
  "image/gif": "gif",
  "image/webp": "webp",
};
const DOCUMENTS: Readonly<Record<string, string>> = {
  "application/pdf": "pdf",
  "text/csv": "csv",
  "text/html": "html",
  "text/plain": "txt",
  "text/markdown": "md",
};

/** No block for a blank text, which would be refused. Throws: Unmappable. */
export function blockOf(part: HubPart, names: DocumentNames): JsonRecord[] {
  switch (part.kind) {
    case "text":
    case "refusal":
      return part.text.trim() === "" ? [] : [{ text: part.text }];
    case "image":
      return [{ image: mediumOf("image_url", part.source, IMAGES) }];
    case "file": {
      const { source, filename } = part;
      if (source.kind === "id")
        throw new Unmappable("messages[].content[].file", "该渠道不支持以编号引用文件");
      return [{ document: { name: names.next(filename), ...mediumOf("file", source, DOCUMENTS) } }];
    }
    case "audio":
    case "video":
      throw new Unmappable(`messages[].content[].${part.kind}`, "该渠道只支持文本、图片与文档");
    default:
      throw new Error(`unknown part ${JSON.stringify(part satisfies never)}`);
  }
}

function mediumOf(
  what: string,
  source: MediaSource,
  formats: Readonly<Record<string, string>>,
): { readonly format: string; readonly source: JsonRecord } {
  const format = source.kind === "data" ? formats[source.mime.toLowerCase()] : undefined;
  if (source.kind !== "data" || format === undefined)
    throw new Unmappable(`messages[].content[].${what}`, "该渠道不支持此媒体格式");
  return { format, source: { bytes: source.base64 } };
}

/** Names of the documents of one request: duplicates would be refused. */
export class DocumentNames {
  /** How often each name was used. */
  readonly #taken = new Map<string, number>();

  next(filename: string | undefined): string {
    const name = nameOf(filename);
    let count = (this.#taken.get(name) ?? 0) + 1;
    while (count > 1 && this.#taken.has(numbered(name, count))) count += 1;
    this.#taken.set(name, count);
    if (count === 1) return name;
    this.#taken.set(numbered(name, count), 1);
    return numbered(name, count);
  }
}

function numbered(name: string, count: number): string {
  return `${name} (${count})`;
}

/** A document's name may have letters, digits, single blanks, hyphens and brackets only, at most 200 characters. */
function nameOf(filename: string | undefined): string {
  const name = (filename ?? "")
    .replace(/\.\w+$/, "")
    .replace(/[^A-Za-z0-9\-()[\]]+/g, " ")
    .trim();
  return name.slice(0, 180).trim() || "document";
}
