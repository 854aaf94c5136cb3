// The table of contents of the management API: everything that is mounted, called, documented and walked by tests.
import { accountApi } from "./account.ts";
import { auditApi } from "./audit.ts";
import { authApi } from "./auth.ts";
import { channelApi } from "./channel.ts";
import { keySearchApi } from "./key-search.ts";
import { logApi } from "./log.ts";
import { oauthApi } from "./oauth.ts";
import { optionApi } from "./option.ts";
import { partnerApi } from "./partner.ts";
import { redemptionApi } from "./redemption.ts";
import { statusApi } from "./status.ts";
import { tokenApi } from "./token.ts";
import { usageApi } from "./usage.ts";
import { userApi } from "./user.ts";
import { userAdminApi } from "./user-admin.ts";

export const api = {
  status: statusApi,
  auth: authApi,
  oauth: oauthApi,
  user: userApi,
  account: accountApi,
  userAdmin: userAdminApi,
  token: tokenApi,
  keySearch: keySearchApi,
  redemption: redemptionApi,
  partner: partnerApi,
  channel: channelApi,
  log: logApi,
  usage: usageApi,
  option: optionApi,
  audit: auditApi,
};
