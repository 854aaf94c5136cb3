// The whole management API by name: forgetting a handler, or answering what the contract does not say, fails the build.
import type { api } from "#contract/index.ts";
import { auth } from "./auth.ts";
import type { Handlers } from "./call.ts";
import { channel } from "./channels.ts";
import { log } from "./logs.ts";
import { option } from "./options.ts";
import { status } from "./status.ts";
import { token } from "./tokens.ts";
import { user } from "./users.ts";

export const handlers = { status, auth, user, token, channel, log, option } satisfies Handlers<typeof api>;
