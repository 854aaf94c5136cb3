// Calls of the endpoints of teams that succeed: each by the owner of a new team, or by who is offered something.
import { monthOf } from "#contract/month.ts";
import { asRoot, type Who } from "#test/worlds/app.ts";
import type { FuzzWorld, Recipe } from "#test/worlds/fuzz-world.ts";
import type { SeededUser } from "./seed.ts";

interface Made {
  readonly id: number;
  readonly name: string;
  readonly owner: Who;
  readonly member: SeededUser;
}

/** A call that was made up may have closed it. */
const openTeams = ({ app }: FuzzWorld) => app.ctx.options.set("TeamCreateEnabled", "true");

export function teamRecipes(
  freshUser: (world: FuzzWorld) => Promise<SeededUser>,
  freshName: () => string,
): Readonly<Record<string, Recipe>> {
  /** A new team with its owner and one more member. */
  async function fresh(world: FuzzWorld): Promise<Made> {
    await openTeams(world);
    const owner = await freshUser(world);
    const member = await freshUser(world);
    const name = freshName();
    const { data } = await world.app.call(owner.who, "POST", "/api/team/", { name });
    const code = await invited(world, { id: data.id, owner: owner.who });
    await world.app.call(member.who, "POST", "/api/team/invitation/accept", { code });
    return { id: data.id, name, owner: owner.who, member };
  }
  async function invited(world: FuzzWorld, { id, owner }: Pick<Made, "id" | "owner">): Promise<string> {
    const path = `/api/team/${id}/invitation`;
    return (await world.app.call(owner, "POST", path, { role: "member" })).data.code;
  }
  const limits = [{ kind: "quota", amount: 1_000_000, time_window: "day" }];
  /** A limit is set at a path, and can be raised there. */
  async function raised(
    { app }: FuzzWorld,
    { path, owner, body }: { path: string; owner: Made["owner"]; body: object },
  ) {
    const { data } = await app.call(owner, "PUT", path, { ...body, limits });
    const boost = { limit_id: data[0].id, amount: 5, until: app.ctx.clock.seconds() + 60, reason: "fuzz" };
    return { path: `${path}/boost`, headers: owner, body: { ...body, ...boost } };
  }
  const own =
    (path: string, body?: (made: Made) => object): Recipe =>
    async (world) => {
      const made = await fresh(world);
      return {
        path: `/api/team/${made.id}${path}`,
        headers: made.owner,
        ...(body && { body: body(made) }),
      };
    };
  /** The running month of a team that has something in its wallet. */
  async function statement(world: FuzzWorld, end: string) {
    const { id, owner } = await fresh(world);
    await world.app.call(owner, "POST", `/api/team/${id}/deposit`, { amount: 3 });
    return {
      path: `/api/team/${id}/statement/${monthOf(world.app.ctx.clock.seconds())}${end}`,
      headers: owner,
    };
  }
  /** A call about a new project of a new team. */
  const ofProject =
    (path: string, body?: () => object): Recipe =>
    async (world) => {
      const { id, owner } = await fresh(world);
      const name = freshName();
      const { data } = await world.app.call(owner, "POST", `/api/team/${id}/project`, { name });
      const project = { project_id: data.id };
      const to = `/api/team/${id}${path}`;
      return body === undefined
        ? { path: `${to}?project_id=${data.id}`, headers: owner }
        : { path: to, headers: owner, body: { ...project, ...body() } };
    };
  return {
    "POST /api/team/": async (world) => {
      await openTeams(world);
      return { body: { name: freshName() }, headers: (await freshUser(world)).who };
    },
    "GET /api/team/:id": own(""),
    "PUT /api/team/:id": own("", () => ({ name: freshName() })),
    "DELETE /api/team/:id": async (world) => {
      const { id, name, owner } = await fresh(world);
      return { path: `/api/team/${id}?name=${name}`, headers: owner };
    },
    "GET /api/team/:id/limit": own("/limit"),
    "PUT /api/team/:id/limit": own("/limit", () => ({ limits })),
    "PUT /api/team/:id/limit/boost": async (world) => {
      const { id, owner } = await fresh(world);
      const path = `/api/team/${id}/limit`;
      return raised(world, { path, owner, body: {} });
    },
    "GET /api/team/:id/member": own("/member"),
    "PUT /api/team/:id/member": own("/member", ({ member }) => ({ user_id: member.id, role: "viewer" })),
    "PUT /api/team/:id/member/limit": own("/member/limit", ({ member }) => ({ user_id: member.id, limits })),
    "PUT /api/team/:id/member/limit/boost": async (world) => {
      const { id, owner, member } = await fresh(world);
      return raised(world, { path: `/api/team/${id}/member/limit`, owner, body: { user_id: member.id } });
    },
    "DELETE /api/team/:id/member": async (world) => {
      const { id, owner, member } = await fresh(world);
      return { path: `/api/team/${id}/member?user_id=${member.id}`, headers: owner };
    },
    "POST /api/team/:id/topup": async (world) => {
      const { id, owner } = await fresh(world);
      const code = { name: "team", quota: 5, count: 1 };
      const { data } = await world.app.call(asRoot, "POST", "/api/redemption/", code);
      return { path: `/api/team/${id}/topup`, headers: owner, body: { key: data[0] } };
    },
    "GET /api/team/:id/project": own("/project"),
    "POST /api/team/:id/project": own("/project", () => ({ name: freshName() })),
    "PUT /api/team/:id/project": ofProject("/project", () => ({ name: freshName() })),
    "DELETE /api/team/:id/project": ofProject("/project"),
    "PUT /api/team/:id/project/limit": ofProject("/project/limit", () => ({ limits })),
    "PUT /api/team/:id/project/limit/boost": async (world) => {
      const { id, owner } = await fresh(world);
      const { data } = await world.app.call(owner, "POST", `/api/team/${id}/project`, { name: freshName() });
      return raised(world, { path: `/api/team/${id}/project/limit`, owner, body: { project_id: data.id } });
    },
    "GET /api/team/:id/invitation": own("/invitation"),
    "POST /api/team/:id/invitation": own("/invitation", () => ({ role: "member" })),
    "DELETE /api/team/:id/invitation": async (world) => {
      const made = await fresh(world);
      await invited(world, made);
      const path = `/api/team/${made.id}/invitation`;
      const { data } = await world.app.call(made.owner, "GET", path);
      return { path: `${path}?invitation_id=${data[0].id}`, headers: made.owner };
    },
    "POST /api/team/invitation/look": async (world) => ({
      body: { code: await invited(world, await fresh(world)) },
    }),
    "POST /api/team/invitation/accept": async (world) => ({
      body: { code: await invited(world, await fresh(world)) },
      headers: (await freshUser(world)).who,
    }),
    "POST /api/team/:id/deposit": own("/deposit", () => ({ amount: 3 })),
    "POST /api/team/:id/withdraw": async (world) => {
      const { id, owner } = await fresh(world);
      await world.app.call(owner, "POST", `/api/team/${id}/deposit`, { amount: 30 });
      return { path: `/api/team/${id}/withdraw`, headers: owner, body: { amount: 3 } };
    },
    "POST /api/team/:id/offer": own("/offer", ({ member }) => ({ user_id: member.id })),
    "POST /api/team/:id/take_over": async (world) => {
      const { id, owner, member } = await fresh(world);
      await world.app.call(owner, "POST", `/api/team/${id}/offer`, { user_id: member.id });
      return { path: `/api/team/${id}/take_over`, headers: member.who };
    },
    "GET /api/team/:id/log": own("/log"),
    "GET /api/team/:id/log/stat": own("/log/stat"),
    "GET /api/team/:id/usage": own("/usage"),
    "GET /api/team/:id/audit": own("/audit"),
    "GET /api/team/:id/statement": own("/statement"),
    "GET /api/team/:id/statement/:month": (world) => statement(world, ""),
    "GET /api/team/:id/statement/:month/pdf": (world) => statement(world, "/pdf"),
    "POST /api/team/all": async (world) => ({
      body: { name: freshName(), owner: (await freshUser(world)).username },
    }),
    "PUT /api/team/all": async (world) => ({ body: { id: (await fresh(world)).id, status: 2 } }),
    "POST /api/team/adjust": async (world) => ({
      body: { id: (await fresh(world)).id, amount: 500, reason: "fuzz" },
    }),
  };
}
