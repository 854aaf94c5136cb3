// A session that becomes another user's.
import { call } from "#console/base/call.ts";
import { writeStored } from "#console/base/storage.ts";
import { userApi } from "#contract/user.ts";

/** The session is another user's from here on: who that is is kept, and everything else begins anew at this page. */
export async function beginAnew(path: string): Promise<void> {
  writeStored("user", await call(userApi.self, {}));
  window.location.assign(path);
}
