// Logins through OAuth 2 without an ID token: what services of many forms answer (requirements I47).
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { type HttpEmulator, type Reply, startHttpEmulator } from "#test/emulators/http-emulator.ts";
import { databases, type TestApp } from "#test/worlds/app.ts";
import {
  addProvider,
  beginAt,
  changeProvider,
  comeBackTo,
  type SignOnApp,
  somebody,
  startSignOnApp,
} from "#test/worlds/sign-on-app.ts";
import { visit } from "#test/worlds/visitor.ts";

const sha256 = async (text: string) =>
  Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.from(text))).toString("base64url");

describe.each(databases)("logins through OAuth 2 on $name", (database) => {
  const clock = fakeClock();
  let world: SignOnApp;
  let app: TestApp;
  let service: HttpEmulator;
  let row: { id: number; slug: string };
  const answers: { token: Reply; profile: Reply } = { token: {}, profile: {} };

  beforeAll(async () => {
    world = await startSignOnApp(database, clock);
    app = world.app;
    service = await startHttpEmulator(({ path }) => (path === "/token" ? answers.token : answers.profile));
    row = await addProvider(app, {
      kind: "oauth2",
      client_id: "client 1",
      secret: "secret:canary&1",
      authorize_url: `${service.url}/authorize?tenant=7`,
      token_url: `${service.url}/token`,
      userinfo_url: `${service.url}/profile`,
      id_path: "data.id",
      name_path: "data.name",
      mail_path: "data.mail",
      verified_path: "data.proved",
      mail_domains: ["corp.example"],
    });
  });
  afterAll(async () => {
    await service.close();
    await world.close();
  });
  beforeEach(() => {
    answers.token = { json: { access_token: "opaque", token_type: "BEARER" } };
    answers.profile = { json: { data: { id: somebody() } } };
    clock.advance(3_600_000);
  });

  async function login() {
    const who = visit(app);
    const url = new URL(await beginAt(who, row.slug));
    const state = url.searchParams.get("state") ?? "";
    return { who, url, answer: await comeBackTo(who, row.slug, { code: "the-code", state }) };
  }

  test("carries PKCE to the page and its verifier to the token endpoint, and reads the profile", async () => {
    const id = somebody();
    answers.profile = {
      json: { data: { id, name: "Bo", mail: "Bo@corp.example", proved: "true" } },
    };
    const { who, url, answer } = await login();
    expect(answer).toMatchObject({ success: true, message: "" });
    expect((await who.call("GET", "/api/user/self")).data).toMatchObject({
      display_name: "Bo",
      email: "bo@corp.example",
    });
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      tenant: "7",
      client_id: "client 1",
      response_type: "code",
      code_challenge_method: "S256",
    });
    const form = new URLSearchParams(service.heard.findLast(({ path }) => path === "/token")?.body);
    expect(await sha256(form.get("code_verifier") ?? "")).toBe(url.searchParams.get("code_challenge"));
    expect(form.get("client_secret")).toBe("secret:canary&1");
    expect(form.get("redirect_uri")).toBe(url.searchParams.get("redirect_uri"));
    const asked = service.heard.findLast(({ path }) => path === "/profile");
    expect(asked?.headers.authorization).toBe("Bearer opaque");
  });

  test("proves the client by Basic where the operator says so, and takes a form for an answer", async () => {
    await changeProvider(app, row, { auth_style: "basic" });
    answers.token = { body: Buffer.from("access_token=from-a-form&token_type=bearer") };
    expect((await login()).answer.success).toBe(true);
    const asked = service.heard.findLast(({ path }) => path === "/token");
    expect(asked?.headers.authorization).toBe(
      `Basic ${Buffer.from("client+1:secret%3Acanary%261").toString("base64")}`,
    );
    expect(asked?.body).not.toContain("canary");
    await changeProvider(app, row, { auth_style: "body" });
  });

  test("a number that JSON carries is an id, and its text the same", async () => {
    const ids = [];
    for (const id of [7_001, "7001", 7_001]) {
      answers.profile = { json: { data: { id } } };
      ids.push((await login()).answer.data.id);
    }
    expect(new Set(ids).size).toBe(1);
  });

  test.each([
    "null",
    "{}",
    "[]",
    "true",
    '""',
    '" "',
    "9007199254740993",
    "1.5",
    '"a\\u0000b"',
    `"${"x".repeat(256)}"`,
  ])("an id of %s opens nothing", async (id) => {
    answers.profile = { body: Buffer.from(`{"data":{"id":${id}}}`) };
    const { who, answer } = await login();
    expect(answer).toMatchObject({ success: false, message: expect.stringContaining("登录失败") });
    expect(who.cookies.has("session")).toBe(false);
  });

  test("equal names in different objects, and names in lists and texts, are no repetition", async () => {
    const text = JSON.stringify({
      id: "outer",
      list: ["id", "id", { id: 1 }, { id: 1 }],
      words: '{"id":1,"id":2}',
    });
    answers.profile = { body: Buffer.from(`${text.slice(0, -1)},"data":{"id":"${somebody()}"}}`) };
    expect((await login()).answer.success).toBe(true);
  });

  test.each<[string, Partial<typeof answers>]>([
    ["a fault in an answer of success", { token: { json: { error: "bad_verification_code" } } }],
    ["no token", { token: { json: {} } }],
    ["a token of another type", { token: { json: { access_token: "x", token_type: "mac" } } }],
    [
      "a token with a line break",
      { token: { json: { access_token: "x\r\nhost: y", token_type: "bearer" } } },
    ],
    ["HTML", { token: { body: Buffer.from("<html>") } }],
    ["a redirect", { token: { status: 302, json: {}, headers: { location: "http://169.254.169.254/" } } }],
    ["a refused profile", { profile: { status: 401, json: {} } }],
    ["a profile that is none", { profile: { body: Buffer.from("no json") } }],
    [
      "an id that stands there twice",
      { profile: { body: Buffer.from('{"data":{"id":"victim","id":"thief"}}') } },
    ],
    [
      "an id twice, once in escapes",
      { profile: { body: Buffer.from('{"data":{"id":"a","\\u0069d":"b"}}') } },
    ],
    [
      "data that stands there twice",
      { profile: { body: Buffer.from('{"data":{"id":"a"},"data":{"id":"b"}}') } },
    ],
    [
      "two tokens",
      { token: { body: Buffer.from('{"access_token":"a","access_token":"b","token_type":"bearer"}') } },
    ],
    ["a profile without end", { profile: { json: { data: { id: "x", filler: "y".repeat(300_000) } } } }],
  ])("%s opens nothing", async (_name, wrong) => {
    Object.assign(answers, wrong);
    expect((await login()).answer).toMatchObject({
      success: false,
      message: expect.stringContaining("登录失败"),
    });
  });
});
