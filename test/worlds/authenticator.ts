// An authenticator app in a test: reads the secret that the server shows once, and knows its code at any time of the app's clock.
import { codeOf, fromBase32, stepOf } from "#server/accounts/totp.ts";
import type { TestApp } from "./app.ts";
import type { Visitor } from "./visitor.ts";

export interface Authenticator {
  /** The code of this moment, or of some steps later. */
  code(steps?: number): string;
  /** Shown once when it was the account's first factor. */
  readonly recoveryCodes: readonly string[];
}

/** Adds an authenticator app to the account that is signed in at this browser. */
export async function enrolTotp(app: TestApp, browser: Visitor): Promise<Authenticator> {
  const begun = await browser.call("POST", "/api/user/factor/totp/begin");
  if (!begun.success) throw new Error(`begin: ${begun.message}`);
  const secret = fromBase32(begun.data.secret);
  const code = (steps = 0) => codeOf(secret, stepOf(app.ctx.clock.seconds()) + steps);
  // The step before, so that the present one is left for the test.
  const done = await browser.call("POST", "/api/user/factor/totp", { code: code(-1) });
  if (!done.success) throw new Error(`finish: ${done.message}`);
  return { code, recoveryCodes: done.data.recovery_codes };
}
