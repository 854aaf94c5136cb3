// Estimates the size of a request, for numbers that are shown before the exact ones are known. Never for money. Pure.
import type { HubPart, HubRequest, HubTool } from "./request.ts";

const BYTES_PER_TOKEN = 4;
/** An image of 1024 × 1024 (requirements W11.3). */
const MEDIA_TOKENS = 765;
/** Framing tokens of each message. */
const MESSAGE_TOKENS = 3;

/** Estimated LLM tokens of a prompt. */
export function roughTokens({ messages, tools = [] }: HubRequest): number {
  let bytes = 0;
  let tokens = 0;
  for (const message of messages) {
    tokens += MESSAGE_TOKENS;
    for (const part of message.parts) {
      const text = spoken(part);
      if (text === undefined) tokens += MEDIA_TOKENS;
      else bytes += Buffer.byteLength(text);
    }
    if (message.role !== "assistant") continue;
    for (const call of message.toolCalls) bytes += call.name.length + Buffer.byteLength(call.arguments);
  }
  for (const tool of tools) bytes += toolBytes(tool);
  return tokens + Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** undefined = the part is a medium. */
function spoken(part: HubPart): string | undefined {
  return part.kind === "text" || part.kind === "refusal" ? part.text : undefined;
}

function toolBytes(tool: HubTool): number {
  return Buffer.byteLength(JSON.stringify(tool));
}
