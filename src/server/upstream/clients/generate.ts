// Gemini's generateContent as a client format (vendors/gemini-clients): bodies into the hub, replies and streams out of it.
import type { ClientDialect } from "./client.ts";
import { renderReply } from "./generate-reply.ts";
import { parseGenerate } from "./generate-request.ts";
import { GenerateRenderer } from "./generate-stream.ts";

export const generate: ClientDialect = {
  parse: parseGenerate,
  render: renderReply,
  renderer: (context) => new GenerateRenderer(context),
};
