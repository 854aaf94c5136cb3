// Calls that succeed on the endpoints of login providers (at a service of OAuth 2 that lets everybody in), of the first run and of
// invitations.
import { openFirstRun } from "#server/accounts/first-run.ts";
import { findPasswordByUserId } from "#server/store/users.ts";
import { asRoot } from "#test/worlds/app.ts";
import type { FuzzWorld, Recipe } from "#test/worlds/fuzz-world.ts";
import { addProvider, beginAt, comeBackTo, freshSlug, SERVER } from "#test/worlds/sign-on-app.ts";
import { type Visitor, visit } from "#test/worlds/visitor.ts";
import { seedPassword } from "./seed.ts";

let serial = 0;

function draft({ provider }: FuzzWorld) {
  return {
    kind: "oauth2",
    name: "fuzz",
    is_enabled: true,
    client_id: "fuzz",
    secret: `canary-sso-secret-${freshSlug()}`,
    authorize_url: `${provider.url}/sso/authorize`,
    token_url: `${provider.url}/sso/token`,
    userinfo_url: `${provider.url}/sso/profile`,
    id_path: "id",
  };
}

const cookiesOf = ({ cookies }: Visitor) => ({
  cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
});

type SetOptions = (
  world: FuzzWorld,
  values: Readonly<Record<"ServerAddress" | "RegisterEnabled", string>>,
) => Promise<void>;

async function invited({ app }: FuzzWorld): Promise<{ id: number; code: string }> {
  return (await app.call(asRoot, "POST", "/api/invitation/", {})).data;
}

async function named({ app }: FuzzWorld): Promise<number> {
  const body = { domain: `${freshSlug()}.example`, group: "vip" };
  return (await app.call(asRoot, "POST", "/api/mail_domain", body)).data.id;
}

export function signOnRecipes(set: SetOptions): Readonly<Record<string, Recipe>> {
  async function fresh(world: FuzzWorld): Promise<{ id: number; slug: string; name: string }> {
    await set(world, { ServerAddress: SERVER, RegisterEnabled: "true" });
    return addProvider(world.app, draft(world));
  }
  /** A browser that is on its way back from a provider. */
  async function gone(world: FuzzWorld, slug: string) {
    const browser = visit(world.app);
    const state = new URL(await beginAt(browser, slug)).searchParams.get("state") ?? "";
    serial += 1;
    return { browser, back: { code: `person-${serial}`, state } };
  }
  return {
    "POST /api/first_run": async ({ app: { ctx } }) => {
      await openFirstRun(ctx.secrets, ctx.db, (await findPasswordByUserId(ctx.db, 1)) ?? "");
      return { body: { key: await ctx.firstRun.key(), password: seedPassword, server_address: SERVER } };
    },
    "POST /api/invitation/": () => ({ body: { group: "vip", quota: 5, max_uses: 2 } }),
    "DELETE /api/invitation/:id": async (world) => ({ path: `/api/invitation/${(await invited(world)).id}` }),
    "POST /api/invitation/look": async (world) => ({ body: { code: (await invited(world)).code } }),
    "POST /api/mail_domain": () => ({ body: { domain: `${freshSlug()}.example`, group: "vip" } }),
    "PUT /api/mail_domain/:id": async (world) => ({
      path: `/api/mail_domain/${await named(world)}`,
      body: { domain: `${freshSlug()}.example`, group: "svip" },
    }),
    "DELETE /api/mail_domain/:id": async (world) => ({ path: `/api/mail_domain/${await named(world)}` }),
    "POST /api/oauth/:slug/begin": async (world) => ({
      path: `/api/oauth/${(await fresh(world)).slug}/begin`,
      body: {},
    }),
    "GET /api/oauth/:slug": async (world) => {
      const { slug } = await fresh(world);
      const { browser, back } = await gone(world, slug);
      return { path: `/api/oauth/${slug}?${new URLSearchParams(back)}`, headers: cookiesOf(browser) };
    },
    "DELETE /api/oauth/identity/:id": async (world) => {
      const [one, two] = [await fresh(world), await fresh(world)];
      const { browser, back } = await gone(world, one.slug);
      await comeBackTo(browser, one.slug, back);
      const state = new URL(await beginAt(browser, two.slug)).searchParams.get("state") ?? "";
      await comeBackTo(browser, two.slug, { code: back.code, state });
      const { data } = await browser.call("GET", "/api/oauth/identity");
      return { path: `/api/oauth/identity/${data[1].id}`, headers: cookiesOf(browser) };
    },
    "POST /api/login_provider": (world) => ({ body: { ...draft(world), slug: freshSlug() } }),
    "PUT /api/login_provider/:id": async (world) => ({
      path: `/api/login_provider/${(await fresh(world)).id}`,
      body: draft(world),
    }),
    "DELETE /api/login_provider/:id": async (world) => {
      const { id, name } = await fresh(world);
      return { path: `/api/login_provider/${id}?name=${name}`, headers: asRoot };
    },
    "POST /api/login_provider/:id/test": async (world) => ({
      path: `/api/login_provider/${(await fresh(world)).id}/test`,
      body: {},
    }),
  };
}
