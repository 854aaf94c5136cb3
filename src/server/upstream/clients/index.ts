// The supported client formats: how each is parsed and rendered, and how each is observed when it passes through.
import type { GenerationEndpoint } from "#contract/provider.ts";
import { chat } from "./chat.ts";
import type { ClientDialect, NativeFormat } from "./client.ts";
import { completions } from "./completions.ts";
import { generate, generateNative } from "./generate.ts";
import { messages, messagesNative } from "./messages.ts";
import { responses, responsesNative } from "./responses.ts";

export const clients: Readonly<Record<GenerationEndpoint, ClientDialect>> = {
  chat,
  completions,
  messages,
  generate,
  responses,
};

export const natives: Readonly<Partial<Record<GenerationEndpoint, NativeFormat>>> = {
  messages: messagesNative,
  generate: generateNative,
  responses: responsesNative,
};
