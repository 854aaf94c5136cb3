// Calls that succeed on the endpoints of second factors, proofs and sessions: by people who have just signed in.
import { keepHalf } from "#server/accounts/half-sessions.ts";
import { codeOf, fromBase32, stepOf } from "#server/accounts/totp.ts";
import { insertFactorReset } from "#server/store/factor-resets.ts";
import { listPasskeys } from "#server/store/passkeys.ts";
import type { TestApp, Who } from "#test/worlds/app.ts";
import { enrolTotp } from "#test/worlds/authenticator.ts";
import type { FuzzWorld, Recipe } from "#test/worlds/fuzz-world.ts";
import { signedIn } from "#test/worlds/people.ts";
import { createSoftPasskey } from "#test/worlds/soft-passkey.ts";
import { type Visitor, visit } from "#test/worlds/visitor.ts";
import type { SeededUser } from "./seed.ts";

const SITE = "https://gate.example";

/** The cookies of a browser, in place of the actor's access token. */
function headersOf({ cookies }: Visitor): Who {
  return { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") };
}

async function withPasskey(app: TestApp, home: Visitor) {
  const passkey = createSoftPasskey(SITE);
  const begun = await home.call("POST", "/api/user/factor/passkey/begin");
  const body = { name: "key", credential: passkey.create(begun.data) };
  await home.call("POST", "/api/user/factor/passkey", body);
  return { passkey, body, app };
}

/** `freshUser` makes a user whom no other recipe needs; `set` sets options. */
export function factorRecipes(
  freshUser: (world: FuzzWorld) => Promise<SeededUser>,
  set: (world: FuzzWorld, values: Readonly<Record<"ServerAddress", string>>) => Promise<void>,
): Readonly<Record<string, Recipe>> {
  async function arrive(world: FuzzWorld) {
    await set(world, { ServerAddress: SITE });
    const user = await freshUser(world);
    return { user, home: await signedIn(world.app, user.id) };
  }
  const signed = async (world: FuzzWorld) => ({ headers: headersOf((await arrive(world)).home) });
  /** A passkey that is asked for by `begin` in this browser. */
  async function asked(world: FuzzWorld, begin: string) {
    const { user, home } = await arrive(world);
    const { passkey } = await withPasskey(world.app, home);
    const browser = begin.includes("login") ? visit(world.app) : home;
    const begun = await browser.call("POST", begin);
    return { user, headers: headersOf(browser), body: passkey.get(begun.data) };
  }
  return {
    "POST /api/user/login/2fa": async (world) => {
      const { user, home } = await arrive(world);
      const phone = await enrolTotp(world.app, home);
      const login = { userId: user.id, via: "password", proven: {}, outside: undefined };
      const half = await keepHalf(world.app.ctx, login);
      return { headers: { cookie: `half=${half}` }, body: { code: phone.recoveryCodes[0] } };
    },
    "POST /api/user/login/passkey/begin": async (world) => {
      await set(world, { ServerAddress: SITE });
      return {};
    },
    "POST /api/user/login/passkey/finish": async (world) => {
      const { headers, body } = await asked(world, "/api/user/login/passkey/begin");
      return { headers, body };
    },
    "POST /api/user/factor/totp/begin": signed,
    "POST /api/user/factor/totp": async (world) => {
      const { home } = await arrive(world);
      const { data } = await home.call("POST", "/api/user/factor/totp/begin");
      const code = codeNow(world, data.secret);
      return { headers: headersOf(home), body: { code } };
    },
    "DELETE /api/user/factor/totp": async (world) => {
      const { home } = await arrive(world);
      await enrolTotp(world.app, home);
      return { headers: headersOf(home) };
    },
    "POST /api/user/factor/recovery": async (world) => {
      const { home } = await arrive(world);
      await enrolTotp(world.app, home);
      return { headers: headersOf(home) };
    },
    "POST /api/user/factor/passkey/begin": signed,
    "POST /api/user/factor/passkey": async (world) => {
      const { home } = await arrive(world);
      const begun = await home.call("POST", "/api/user/factor/passkey/begin");
      const credential = createSoftPasskey(SITE).create(begun.data);
      return { headers: headersOf(home), body: { name: "key", credential } };
    },
    "PUT /api/user/factor/passkey": async (world) => {
      const { user, home } = await arrive(world);
      await withPasskey(world.app, home);
      const [row] = await listPasskeys(world.app.ctx.db, user.id);
      return { headers: headersOf(home), body: { id: row?.id, name: "renamed" } };
    },
    "DELETE /api/user/factor/passkey/:id": async (world) => {
      const { user, home } = await arrive(world);
      await withPasskey(world.app, home);
      const [row] = await listPasskeys(world.app.ctx.db, user.id);
      return { headers: headersOf(home), path: `/api/user/factor/passkey/${row?.id}` };
    },
    "POST /api/user/factor/reset": async (world, { admin }) => ({
      headers: headersOf(await signedIn(world.app, admin.id)),
      body: { id: (await freshUser(world)).id, reason: "lost phone" },
    }),
    "POST /api/user/factor/reset/cancel": async (world) => {
      const { app } = world;
      const { user, home } = await arrive(world);
      await enrolTotp(app, home);
      const asked_at = app.ctx.clock.seconds();
      await insertFactorReset(app.ctx.db, { user_id: user.id, asked_by: 1, asked_at, reason: "lost phone" });
      return { headers: headersOf(home), body: { id: user.id } };
    },
    "POST /api/verify": async (world) => {
      const { user, home } = await arrive(world);
      return { headers: headersOf(home), body: { password: user.password } };
    },
    "POST /api/verify/passkey/begin": async (world) => {
      const { home } = await arrive(world);
      await withPasskey(world.app, home);
      return { headers: headersOf(home) };
    },
    "POST /api/verify/passkey/finish": async (world) => {
      const { headers, body } = await asked(world, "/api/verify/passkey/begin");
      return { headers, body };
    },
    "POST /api/user/session/end": async (world) => ({ ...(await signed(world)), body: { id: "" } }),
  };
}

function codeNow({ app }: FuzzWorld, secret: string): string {
  return codeOf(fromBase32(secret), stepOf(app.ctx.clock.seconds()));
}
