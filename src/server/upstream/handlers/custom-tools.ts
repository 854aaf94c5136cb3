// Custom tools take plain text; most wires know functions only, so there they are functions with one text `input` (requirements T18.5).
// This converts calls of them back. Pure.

import type { HubChunk } from "#server/upstream/hub/reply.ts";
import type { HubRequest } from "#server/upstream/hub/request.ts";
import { readJson } from "#server/upstream/json/values.ts";

type ToolChunk = HubChunk & { readonly kind: "tool" };

export class CustomTools {
  readonly #names: ReadonlySet<string>;
  /** Unfinished calls of custom tools: their text can be read only when it is complete. */
  readonly #calls = new Map<string, ToolChunk>();

  constructor(names: ReadonlySet<string>) {
    this.#names = names;
  }

  take(chunks: readonly HubChunk[]): readonly HubChunk[] {
    if (!chunks.some((chunk) => chunk.kind === "finish" || chunk.kind === "end" || this.#isOurs(chunk)))
      return chunks;
    const out: HubChunk[] = [];
    for (const chunk of chunks) {
      if (this.#isOurs(chunk)) out.push(...this.#keep(chunk));
      else if (chunk.kind === "finish" || chunk.kind === "end") out.push(...this.#flush(), chunk);
      else out.push(chunk);
    }
    return out;
  }

  #isOurs(chunk: HubChunk): chunk is ToolChunk {
    if (chunk.kind !== "tool" || chunk.isCustom === true) return false;
    return (
      this.#calls.has(`${chunk.index} ${chunk.at}`) ||
      (chunk.name !== undefined && this.#names.has(chunk.name))
    );
  }

  /** The first chunk of a call is passed on at once, so that calls keep their order. */
  #keep(chunk: ToolChunk): ToolChunk[] {
    const key = `${chunk.index} ${chunk.at}`;
    const known = this.#calls.get(key);
    this.#calls.set(
      key,
      known === undefined ? chunk : { ...known, arguments: known.arguments + chunk.arguments },
    );
    return known === undefined ? [{ ...chunk, isCustom: true, arguments: "" }] : [];
  }

  #flush(): ToolChunk[] {
    const calls = [...this.#calls.values()].map(({ kind, index, at, arguments: text }): ToolChunk => {
      const input = readJson(text)?.["input"];
      return { kind, index, at, isCustom: true, arguments: typeof input === "string" ? input : text };
    });
    this.#calls.clear();
    return calls;
  }
}

/** Follows the calls of a request's custom tools; undefined = it has none. */
export function customTools({ tools }: HubRequest): CustomTools | undefined {
  const names = tools?.flatMap((tool) => (tool.kind === "custom" ? [tool.name] : [])) ?? [];
  return names.length === 0 ? undefined : new CustomTools(new Set(names));
}
