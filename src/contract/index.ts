// The table of contents of the management API: everything that is mounted, called, documented and walked by tests.
import { authApi } from "./auth.ts";
import { channelApi } from "./channel.ts";
import { logApi } from "./log.ts";
import { optionApi } from "./option.ts";
import { statusApi } from "./status.ts";
import { tokenApi } from "./token.ts";
import { userApi } from "./user.ts";

export const api = {
  status: statusApi,
  auth: authApi,
  user: userApi,
  token: tokenApi,
  channel: channelApi,
  log: logApi,
  option: optionApi,
};
