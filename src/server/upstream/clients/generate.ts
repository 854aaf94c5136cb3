// Gemini's generateContent as a client format (vendors/gemini-clients): parses bodies into the hub, renders replies and streams from it.
import type { ClientDialect } from "./client.ts";
import { renderReply } from "./generate-reply.ts";
import { parseGenerate } from "./generate-request.ts";
import { GenerateRenderer } from "./generate-stream.ts";

export const generate: ClientDialect = {
  parse: parseGenerate,
  render: renderReply,
  renderer: (context) => new GenerateRenderer(context),
};
