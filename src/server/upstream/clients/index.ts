// The client formats that are spoken today: how each is read and written, and how each passes untouched.
import type { GenerationEndpoint } from "#contract/provider.ts";
import { chat } from "./chat.ts";
import type { ClientDialect, NativeFormat } from "./client.ts";
import { completions } from "./completions.ts";

export const clients: Readonly<Partial<Record<GenerationEndpoint, ClientDialect>>> = { chat, completions };

export const natives: Readonly<Partial<Record<GenerationEndpoint, NativeFormat>>> = {};
