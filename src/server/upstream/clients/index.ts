// The supported client formats: how each is parsed and rendered, and how each is observed when it passes through.
import type { GenerationEndpoint } from "#contract/provider.ts";
import { chat } from "./chat.ts";
import type { ClientDialect, NativeFormat } from "./client.ts";
import { completions } from "./completions.ts";
import { generate } from "./generate.ts";
import { generateNative } from "./generate-native.ts";
import { messages } from "./messages.ts";
import { messagesNative } from "./messages-native.ts";
import { responses } from "./responses.ts";
import { responsesNative } from "./responses-native.ts";

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
