// Trusted Types (reliability H03): no text becomes markup by itself. antd writes its style sheets through innerHTML, so texts
// without any tag pass; everything else must come from the sanitiser's own policy or is refused by the browser.

interface PolicyRules {
  readonly createHTML: (text: string) => string | null;
}

interface TrustedTypesWindow {
  readonly trustedTypes?: { readonly createPolicy: (name: string, rules: PolicyRules) => unknown };
}

/** What the default policy says to a text: itself when it holds no tag, else a refusal. */
export function plainTextOnly(text: string): string | null {
  return text.includes("<") ? null : text;
}

/** Installs the default policy where the browser knows Trusted Types. Call once, before anything is drawn. */
export function guardMarkup(): void {
  // Not in the DOM library of TypeScript yet; absent in older browsers.
  const { trustedTypes } = window as TrustedTypesWindow;
  trustedTypes?.createPolicy("default", { createHTML: plainTextOnly });
}
