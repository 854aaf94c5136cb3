// The way to a login provider: its page's address from the server, then there.
import { signOnApi } from "#contract/sign-on.ts";
import { useCall } from "./call.ts";
import { leaveFor } from "./trip.ts";

/** Leads the browser to a provider; coming back, /oauth/:slug goes on, to `origin` where a location wanted the login. */
export function useSignOn(origin?: unknown): {
  readonly go: (slug: string) => void;
  readonly isBusy: (slug: string) => boolean;
} {
  const begin = useCall(signOnApi.begin, { onSuccess: (address) => leaveFor(address, origin) });
  const asked = begin.variables?.params.slug;
  return {
    go: (slug) => begin.mutate({ params: { slug }, body: {} }),
    isBusy: (slug) => (begin.isPending || begin.isSuccess) && asked === slug,
  };
}
