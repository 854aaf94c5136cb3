// Leaves the session by choice, from the console and from guest pages.
import { useQueryClient } from "@tanstack/react-query";
import { useCall } from "#console/base/call.ts";
import { signOut } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { authApi } from "#contract/auth.ts";

/** Ends the session and forgets the user and everything that was fetched for them. */
export function useLogout(): { readonly go: () => void; readonly isBusy: boolean } {
  const client = useQueryClient();
  const logout = useCall(authApi.logout, {
    onSuccess: () => {
      toast.success("注销成功！");
      signOut("left");
      client.clear();
    },
  });
  return { go: () => logout.mutate({}), isBusy: logout.isPending };
}
