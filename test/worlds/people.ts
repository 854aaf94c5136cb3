// People of the tests about ways in: signed in without a password's cost, with an authenticator app, at browsers of their own.
import { keepHalf } from "#server/accounts/half-sessions.ts";
import type { SessionTraits } from "#server/accounts/sessions.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import type { TestApp } from "./app.ts";
import { type Authenticator, enrolTotp } from "./authenticator.ts";
import { type Visitor, visit } from "./visitor.ts";

let serial = 0;

/** A new user. */
export function newcomer(app: TestApp, role?: number): Promise<SeededUser> {
  serial += 1;
  return seedUser(app.ctx, `person${serial}`, role === undefined ? {} : { role });
}

/** A browser in which the user has just signed in. */
export async function signedIn(app: TestApp, userId: number, traits?: SessionTraits): Promise<Visitor> {
  const browser = visit(app);
  const known = traits ?? { stepup_at: app.ctx.clock.seconds(), method: "password" };
  const id = await app.ctx.sessions.start(userId, {}, { traits: known });
  browser.cookies.set("session", id ?? "");
  return browser;
}

/** A browser in which the password was right, and the second factor is still to come. */
export async function halfwayIn(app: TestApp, userId: number): Promise<Visitor> {
  const browser = visit(app);
  const login = { userId, via: "password", proven: { status: 1 }, outside: undefined };
  browser.cookies.set("half", await keepHalf(app.ctx, login));
  return browser;
}

/** A user with an authenticator app, and the browser it was set up in. */
export async function withPhone(
  app: TestApp,
  role?: number,
): Promise<{ user: SeededUser; home: Visitor; phone: Authenticator }> {
  const user = await newcomer(app, role);
  const home = await signedIn(app, user.id);
  return { user, home, phone: await enrolTotp(app, home) };
}
