// The providers around every page: server state, theme and language, toasts, pages.
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { useEffect } from "react";
import { RouterProvider } from "react-router";
import { ApiFault, bindSignedOut, bindUnprotected, handleFault } from "#console/base/faults.ts";
import { loadNotice } from "#console/base/notice.ts";
import { currentUser, signOut } from "#console/base/session.ts";
import { loadStatus } from "#console/base/status.ts";
import { paintPage, useShades, useThemeMode } from "#console/base/theme-mode.ts";
import { ProofHost } from "#console/ui/proof-host.tsx";
import { NavProvider, pageAt } from "#console/ui/shell/nav.ts";
import { ToastHost } from "#console/ui/toast-host.tsx";
import { consolePages, router } from "./routes.tsx";

interface Meta {
  readonly silent?: unknown;
}

/** Where an account that needs a second factor adds one. */
const SECURITY = "?tab=security";

/** A silent call shows its failure itself; the end of a session is never silent. */
function tell(error: Error, meta: Meta | undefined): void {
  const isSignedOut = error instanceof ApiFault && error.kind === "signed-out";
  if (meta?.silent !== true || isSignedOut) handleFault(error);
}

function shouldRetry(failures: number, error: Error): boolean {
  return failures < 1 && error instanceof ApiFault && error.kind === "network";
}

const client = new QueryClient({
  queryCache: new QueryCache({ onError: (error, query) => tell(error, query.meta) }),
  mutationCache: new MutationCache({
    onError: (error, _input, _undo, mutation) => tell(error, mutation.meta),
  }),
  defaultOptions: {
    queries: { retry: shouldRetry, refetchOnWindowFocus: false, staleTime: 5_000 },
  },
});

/** A 401 ends at the login page, from public pages too (requirements B8); a visitor that never signed in has no session to expire. */
function leaveSession(): void {
  const { pathname, search, hash } = router.state.location;
  const access = pageAt(consolePages, pathname)?.access ?? "public";
  const isGuest = currentUser() === undefined;
  signOut("expired");
  client.clear();
  // Other pages are left by their guard, together with a form that would ask first.
  if (isGuest || access !== "public") return;
  void router.navigate("/login?expired=true", { state: { from: { pathname, search, hash } }, replace: true });
}

bindSignedOut(leaveSession);
bindUnprotected(() => {
  if (router.state.location.search !== SECURITY) void router.navigate(`/setting${SECURITY}`);
});
void loadStatus(client, __APP_VERSION__);
void loadNotice(client);

export function ConsoleApp() {
  const mode = useThemeMode();
  const shades = useShades();
  useEffect(() => paintPage(mode, shades), [mode, shades]);
  return (
    <div className="tg-root">
      <QueryClientProvider client={client}>
        <ToastHost />
        <ProofHost />
        <NavProvider value={consolePages}>
          <RouterProvider router={router} />
        </NavProvider>
      </QueryClientProvider>
    </div>
  );
}
