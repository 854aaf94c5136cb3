// The whole management API by name: forgetting a handler, or answering what the contract does not say, fails the build.
import type { api } from "#contract/index.ts";
import { account } from "./account.ts";
import { audit } from "./audit.ts";
import { auth } from "./auth.ts";
import type { Handlers } from "./call.ts";
import { channel } from "./channels.ts";
import { keySearch } from "./key-search.ts";
import { log } from "./logs.ts";
import { oauth } from "./oauth.ts";
import { option } from "./options.ts";
import { partner } from "./partner.ts";
import { redemption } from "./redemptions.ts";
import { status } from "./status.ts";
import { token } from "./tokens.ts";
import { usage } from "./usage.ts";
import { userAdmin } from "./user-admin.ts";
import { user } from "./users.ts";

export const handlers = {
  status,
  auth,
  oauth,
  user,
  account,
  userAdmin,
  redemption,
  partner,
  token,
  keySearch,
  channel,
  log,
  usage,
  option,
  audit,
} satisfies Handlers<typeof api>;
