// Teams over the management API, as tests make and use them: a full one has a person of each role.
import { expect } from "vitest";
import { TEAM_ROLES, type TeamRole } from "#contract/team-words.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import type { TestApp, Who } from "#test/worlds/app.ts";

/** What tests do to teams of an app; `app` is asked for when one of them is called. */
export function teamActs(app: () => TestApp) {
  let serial = 0;

  const newcomer = () => seedUser(app().ctx, `t${++serial}`);
  const post = (who: Who, path: string, body: object) => app().call(who, "POST", `/api/team/${path}`, body);

  async function newTeam(): Promise<{ id: number; owner: SeededUser }> {
    const owner = await newcomer();
    const { data } = await post(owner.who, "", { name: `team${serial}` });
    return { id: data.id, owner };
  }
  async function join(id: number, owner: SeededUser, role: string): Promise<SeededUser> {
    const user = await newcomer();
    const { data } = await post(owner.who, `${id}/invitation`, { role });
    expect(await post(user.who, "invitation/accept", { code: data.code })).toMatchObject({ success: true });
    return user;
  }
  async function fullTeam() {
    const { id, owner } = await newTeam();
    const people = { owner } as Record<TeamRole, SeededUser>;
    for (const role of TEAM_ROLES.slice(1)) people[role] = await join(id, owner, role);
    return { id, people };
  }
  const quotaOf = async (who: Who) => (await app().call(who, "GET", "/api/user/self")).data.quota;
  const walletOf = async (who: Who, id: number) =>
    (await app().call(who, "GET", `/api/team/${id}`)).data.quota;
  async function newToken({ who }: SeededUser, teamId: number) {
    const body = { name: `k${++serial}`, unlimited_quota: true, team_id: teamId };
    return (await app().call(who, "POST", "/api/token/", body)).data;
  }
  async function spend(walletId: number, tokenId: number, amount: bigint) {
    const parties = { requestId: `team-api-${++serial}`, userId: walletId, tokenId };
    expect(await app().ctx.ledger.reserve({ ...parties, amount, modelName: "m" })).toBe("reserved");
    const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
    const log = { content: "", model_name: "m", elapsed_time: 1, first_byte_time: 0 };
    const book = (charge: bigint) =>
      app().ctx.ledger.settle({
        ...parties,
        channelId: 0,
        charge,
        usage,
        log: { ...log, is_stream: 0, estimated: 0, trail: "" },
      });
    return { book };
  }
  async function walletIdOf(id: number): Promise<number> {
    const row = await app()
      .ctx.db.selectFrom("teams")
      .select("wallet_id")
      .where("id", "=", id)
      .executeTakeFirst();
    return row?.wallet_id ?? 0;
  }

  return { newcomer, post, newTeam, join, fullTeam, quotaOf, walletOf, newToken, spend, walletIdOf };
}
