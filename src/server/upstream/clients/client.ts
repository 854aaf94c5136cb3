// What a client format must be able to do: read a request into the hub, write a reply, a stream and an error from it. Pure: no clock,
// no network, no chance.
import type { JsonRecord } from "#server/upstream/hub.ts";
import type { HubChunk, HubReply } from "#server/upstream/hub-reply.ts";
import type { HubRequest } from "#server/upstream/hub-request.ts";

export interface ParseContext {
  /** Upstream name, after the model mapping. */
  readonly model: string;
  readonly isStream: boolean;
}

export interface RenderContext {
  /** The name the client asked for. */
  readonly model: string;
  /** Letters and digits of this request alone; ids are made from it. */
  readonly seed: string;
  /** Unit: seconds since 1970. */
  readonly created: number;
  /** The client asked for usage in its stream (formats that leave the choice). */
  readonly wantsUsage: boolean;
  /** The stream is one JSON array instead of events (Gemini without `alt=sse`). */
  readonly isArray: boolean;
  readonly request: HubRequest;
  /** What the client sent, for formats that echo settings. */
  readonly body: JsonRecord;
}

export interface StreamRenderer {
  /** What these pieces mean to the client; "" = nothing yet. */
  take(chunks: readonly HubChunk[]): string;
  /** Everything that ends the complete stream; sent once the charge is durable. */
  end(): string;
}

export interface ClientDialect {
  /** Throws: Unmappable. */
  parse(body: JsonRecord, context: ParseContext): HubRequest;
  render(reply: HubReply, context: RenderContext): JsonRecord;
  renderer(context: RenderContext): StreamRenderer;
}
