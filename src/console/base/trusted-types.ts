// Trusted Types (requirements H03): no text becomes markup by itself. antd writes its style sheets through innerHTML, so texts
// without any tag pass; everything else must come from the sanitiser's own policy or is refused by the browser.

interface PolicyRules {
  readonly createHTML: (text: string) => string | null;
  readonly createScriptURL: (address: string) => string | null;
}

/** The one script from elsewhere that may be added to the page: the human check. */
export const TURNSTILE_SCRIPT = "https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit";

interface TrustedTypesWindow {
  readonly trustedTypes?: { readonly createPolicy: (name: string, rules: PolicyRules) => unknown };
}

/** What the default policy says to a text: itself when it holds no tag, else a refusal. */
export function plainTextOnly(text: string): string | null {
  return text.includes("<") ? null : text;
}

/** What the default policy says to a script's address: itself when it is the human check's, else a refusal. */
export function knownScript(address: string): string | null {
  return address === TURNSTILE_SCRIPT ? address : null;
}

/** Installs the default policy where the browser knows Trusted Types. Call once, before anything is drawn. */
export function guardMarkup(): void {
  // Not in the DOM library of TypeScript yet; absent in older browsers.
  const { trustedTypes } = window as TrustedTypesWindow;
  trustedTypes?.createPolicy("default", { createHTML: plainTextOnly, createScriptURL: knownScript });
}
