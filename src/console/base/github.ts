// The way to GitHub: a one-time state from the server, then its authorisation page.
import { oauthApi } from "#contract/oauth.ts";
import { useCall } from "./call.ts";
import { ApiFault, handleFault } from "./faults.ts";
import { useStatus } from "./status.ts";
import { leaveFor } from "./trip.ts";

/**
 * Address of the authorisation page. The server's own carries the PKCE challenge; a server of the family that only gives a state
 * gets the plain one (requirements W4.5). undefined = GitHub is not set up.
 */
export function githubAddress(
  answer: { readonly data: string; readonly url: string },
  clientId: string,
): string | undefined {
  if (/^https?:\/\//.test(answer.url)) return answer.url;
  if (clientId === "") return undefined;
  const search = new URLSearchParams({ client_id: clientId, state: answer.data, scope: "user:email" });
  return `https://github.com/login/oauth/authorize?${search.toString()}`;
}

/** Leads the browser to GitHub; coming back, /oauth/github goes on, to `origin` where a location wanted the login. */
export function useGithub(origin?: unknown): { readonly go: () => void; readonly isBusy: boolean } {
  const clientId = useStatus()?.github_client_id ?? "";
  const state = useCall(oauthApi.state, {
    onSuccess: (answer) => {
      const address = githubAddress(answer, clientId);
      if (address === undefined) handleFault(new ApiFault("refused", "管理员还没有设置 GitHub 登录"));
      else leaveFor(address, origin);
    },
  });
  return { go: () => state.mutate({}), isBusy: state.isPending || state.isSuccess };
}
