// The pages that need no login. Adding one is one row here.
import type { ComponentType } from "react";

/** Pages with the light frame; no console code is loaded for them. */
export const guestPages: readonly { readonly path: string; readonly load: () => Promise<ComponentType> }[] = [
  { path: "/", load: async () => (await import("./pages/home.tsx")).HomePage },
  { path: "/first-run", load: async () => (await import("./pages/first-run/page.tsx")).FirstRunPage },
  { path: "/login", load: async () => (await import("./pages/login.tsx")).LoginPage },
  { path: "/register", load: async () => (await import("./pages/register.tsx")).RegisterPage },
  { path: "/reset", load: async () => (await import("./pages/reset.tsx")).ResetPage },
  { path: "/user/reset", load: async () => (await import("./pages/reset-confirm.tsx")).ResetConfirmPage },
  { path: "/oauth/github", load: async () => (await import("./pages/oauth-github.tsx")).OAuthGithubPage },
  { path: "/oauth/:slug", load: async () => (await import("./pages/oauth-provider.tsx")).OAuthProviderPage },
  { path: "/about", load: async () => (await import("./pages/about.tsx")).AboutPage },
  { path: "/terms", load: async () => (await import("./pages/terms.tsx")).TermsPage },
  { path: "*", load: async () => (await import("./pages/not-found.tsx")).NotFoundPage },
];
