// Projects of teams over the management API (requirements O09): caps, costs, which tokens belong to one, and its end.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ownerOfLimit } from "#server/jobs/limit-warnings.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { bill, order } from "#test/worlds/ledger-world.ts";

describe.each(databases)("projects of teams on $name", (database) => {
  let app: TestApp;
  let serial = 0;
  let owner: SeededUser;
  let team: number;

  beforeAll(async () => {
    app = await createAppOn(database);
    owner = await seedUser(app.ctx, "projector");
    team = (await app.call(owner.who, "POST", "/api/team/", { name: "研发" })).data.id;
  });
  afterAll(() => app.close());

  const call = (method: string, path: string, body?: object) =>
    app.call(owner.who, method, `/api/team/${team}/project${path}`, body);
  const newProject = async (): Promise<{ id: number; name: string }> =>
    (await call("POST", "", { name: `项目${++serial}` })).data;
  const newToken = (fields: object) =>
    app.call(owner.who, "POST", "/api/token/", { name: "t", unlimited_quota: true, ...fields });

  test("it is made, named, limited and listed with its tokens and what they cost", async () => {
    const { id } = await newProject();
    expect((await call("PUT", "", { project_id: id, name: "网站" })).success).toBe(true);
    const limits = [{ kind: "quota", amount: 1_000, time_window: "month" }];
    const set = await call("PUT", "/limit", { project_id: id, limits });
    expect(set.data).toMatchObject([{ subject: "project", subject_id: id, amount: 1_000, used: 0 }]);
    expect(set.data[0].subject_label).toBe("网站");
    const { data: token } = await newToken({ team_id: team, project_id: id });
    expect(token).toMatchObject({ team_id: team, project_id: id });
    const { walletId } = await app.ctx.db
      .selectFrom("teams")
      .select("wallet_id as walletId")
      .where("id", "=", team)
      .executeTakeFirstOrThrow();
    const grant = { userId: walletId, kind: "grant", quota: { delta: 500n }, actorId: walletId } as const;
    await app.ctx.ledger.adjust({ ...grant, reason: "test" });
    const parties = { requestId: "in project", userId: walletId, tokenId: token.id };
    const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
    await app.ctx.ledger.reserve({ ...parties, amount: 40n, modelName: "m" });
    await app.ctx.ledger.settle({ ...parties, channelId: 0, charge: 30n, usage, log: null });
    const listed = (await call("GET", "")).data.find((row: { id: number }) => row.id === id);
    expect(listed).toMatchObject({ name: "网站", tokens: 1, spent: 30, requests: 1 });
    const { data } = await app.call(owner.who, "GET", `/api/team/${team}/usage`);
    expect(data.projects).toEqual([{ project_id: id, name: "网站", quota: 30, requests: 1 }]);
  });

  test("the log is read by project, of the team and of all, with its sums; another team's project is in neither", async () => {
    const [one, two] = [await newProject(), await newProject()];
    const stranger = await seedUser(app.ctx, "elsewhere");
    const { data: other } = await app.call(stranger.who, "POST", "/api/team/", { name: "别的" });
    const theirs = (await app.call(stranger.who, "POST", `/api/team/${other.id}/project`, { name: "x" }))
      .data;
    const wallets = app.ctx.db.selectFrom("teams").select("wallet_id").where("id", "=", team);
    const { wallet_id: walletId } = await wallets.executeTakeFirstOrThrow();
    const grant = { userId: walletId, kind: "grant", quota: { delta: 500n }, actorId: walletId } as const;
    await app.ctx.ledger.adjust({ ...grant, reason: "test" });
    for (const [project_id, charge] of [
      [one.id, 3n],
      [one.id, 4n],
      [two.id, 5n],
      [0, 6n],
    ] as const) {
      const { data: token } = await newToken({ team_id: team, project_id });
      const called = order({ userId: walletId, tokenId: token.id }, 10n);
      await app.ctx.ledger.reserve(called);
      await app.ctx.ledger.settle(bill(called, charge));
    }
    const rowsOf = async (who: SeededUser["who"] | typeof asRoot, path: string) => {
      const answer = await app.call(who, "GET", path);
      const quotas = answer.data.map(({ quota }: { quota: number }) => quota);
      return { quotas, total: answer.total, name: answer.data[0]?.project_name };
    };
    const ofOne = { quotas: [4, 3], total: 2, name: one.name };
    const none = { quotas: [], total: 0, name: undefined };
    expect(await rowsOf(owner.who, `/api/team/${team}/log?project_id=${one.id}`)).toEqual(ofOne);
    expect(await rowsOf(owner.who, `/api/team/${team}/log?project_id=${theirs.id}`)).toEqual(none);
    expect(await rowsOf(asRoot, `/api/log/?project=${one.id}`)).toEqual(ofOne);
    expect(await rowsOf(asRoot, `/api/log/?project=${two.id}&model_name=gpt-4o`)).toMatchObject({
      quotas: [5],
    });
    expect(await rowsOf(asRoot, `/api/log/?project=${two.id}&username=projector`)).toEqual(none);
    const stat = async (query: string) => (await app.call(asRoot, "GET", `/api/log/stat?${query}`)).data;
    expect(await stat(`project=${one.id}`)).toMatchObject({ quota: 7, request: 2 });
    expect(await stat(`project=${one.id}&model_name=gpt-4o`)).toMatchObject({ quota: 7, request: 2 });
    expect(await stat(`project=${one.id}&username=projector`)).toMatchObject({ quota: 0, request: 0 });
    expect(await stat(`project=${theirs.id}`)).toMatchObject({ quota: 0, request: 0 });
  });

  test("a member without rights to costs sees none, and the owner is who a warning goes to", async () => {
    const { id, name } = await newProject();
    const member = await seedUser(app.ctx, "viewer_of_project");
    const { data } = await app.call(owner.who, "POST", `/api/team/${team}/invitation`, { role: "viewer" });
    await app.call(member.who, "POST", "/api/team/invitation/accept", { code: data.code });
    const seen = await app.call(member.who, "GET", `/api/team/${team}/project`);
    expect(seen.data.find((row: { id: number }) => row.id === id)).toMatchObject({
      ...{ name, spent: null, requests: null, limits: [] },
    });
    expect(await ownerOfLimit(app.ctx, { subject: "project", subject_id: id }, 0)).toEqual({
      userId: owner.id,
      whose: "团队“研发”的项目",
      path: `/team/${team}?tab=project`,
    });
  });

  test("names are once in a team; another team's projects are as if they were not", async () => {
    const { id, name } = await newProject();
    expect((await call("POST", "", { name })).message).toBe("团队里已有同名的项目");
    const other = await newProject();
    expect((await call("PUT", "", { project_id: other.id, name })).message).toBe("团队里已有同名的项目");
    const stranger = await seedUser(app.ctx, `stranger${serial}`);
    const { data: theirs } = await app.call(stranger.who, "POST", "/api/team/", { name: "别的" });
    const path = `/api/team/${theirs.id}/project`;
    expect((await app.call(stranger.who, "POST", path, { name })).success).toBe(true);
    for (const answer of [
      await app.call(stranger.who, "PUT", path, { project_id: id, name: "taken" }),
      await app.call(stranger.who, "DELETE", `${path}?project_id=${id}`),
      await app.call(stranger.who, "PUT", `${path}/limit`, { project_id: id, limits: [] }),
      await app.call(stranger.who, "POST", "/api/token/", {
        ...{ name: "t", team_id: theirs.id, project_id: id },
      }),
    ])
      expect(answer).toMatchObject({ success: false, message: "找不到该项目" });
    for (const body of [{ name: "" }, { name: "x".repeat(31) }, { name: "a\nb" }])
      expect((await call("POST", "", body)).success).toBe(false);
  });

  test("a token moves between projects of its team, and belongs to none where no team pays", async () => {
    const one = await newProject();
    const two = await newProject();
    const { data: token } = await newToken({ team_id: team, project_id: one.id });
    const move = (id: number, project_id: number) =>
      app.call(owner.who, "PUT", "/api/token/", { id, name: "t", project_id });
    expect((await move(token.id, two.id)).data.project_id).toBe(two.id);
    expect((await move(token.id, 0)).data.project_id).toBe(0);
    expect((await move(token.id, 987_654_321)).message).toBe("找不到该项目");
    const many = { name: "b", unlimited_quota: true, count: 2, team_id: team, project_id: one.id };
    const { data: batch } = await app.call(owner.who, "POST", "/api/token/batch", many);
    expect(batch.map(({ project_id }: { project_id: number }) => project_id)).toEqual([one.id, one.id]);
    const REFUSED = "只有团队令牌可以属于项目";
    expect((await newToken({ project_id: one.id })).message).toBe(REFUSED);
    const { data: own } = await newToken({});
    expect((await move(own.id, one.id)).message).toBe(REFUSED);
    expect((await move(own.id, 0)).success).toBe(true);
  });

  test("one that has tokens stays; a closed one takes no token, and its name is free again", async () => {
    const { id, name } = await newProject();
    const { data: token } = await newToken({ team_id: team, project_id: id });
    const close = () => call("DELETE", `?project_id=${id}`);
    expect((await close()).message).toBe("还有令牌属于该项目，请先移走或删除它们");
    await app.call(owner.who, "DELETE", `/api/token/${token.id}`);
    await call("PUT", "/limit", { project_id: id, limits: [{ kind: "calls", amount: 1 }] });
    expect((await close()).success).toBe(true);
    expect((await close()).message).toBe("找不到该项目");
    expect((await newToken({ team_id: team, project_id: id })).message).toBe("找不到该项目");
    const left = app.ctx.db.selectFrom("limits").select("id").where("subject", "=", "project");
    expect(await left.where("subject_id", "=", id).where("deleted_at", "=", 0).execute()).toEqual([]);
    expect((await call("POST", "", { name })).success).toBe(true);
  });

  test("of tokens that are made while it is closed, none is left in it", async () => {
    const { id } = await newProject();
    const answers = await Promise.all([
      ...Array.from({ length: 5 }, () => newToken({ team_id: team, project_id: id })),
      call("DELETE", `?project_id=${id}`),
      ...Array.from({ length: 5 }, () => newToken({ team_id: team, project_id: id })),
    ]);
    const made = answers.filter(({ success }, at) => success && at !== 5).length;
    expect(answers[5]?.success).toBe(made === 0);
  });
});
