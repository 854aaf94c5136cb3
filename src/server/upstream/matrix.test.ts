// Every client format against every wire of every channel type: plain, streamed, with tools, with an image, with an error. A cell that
// is not served is refused by name. docs/providers.md is printed from the results of this test.
import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { GenerationEndpoint } from "#contract/provider.ts";
import { providers } from "#contract/providers.ts";
import {
  answerOf,
  ENVELOPES,
  FORMATS,
  KINDS,
  type Kind,
  requestOf,
  type Spoken,
  waysOf,
} from "#test/worlds/matrix.ts";
import { type Cell, printMatrix, type TaskName } from "#test/worlds/matrix-page.ts";
import { clientBody, loadFixtures, play } from "#test/worlds/wire-cases.ts";
import { planCall } from "./call/plan.ts";

const fixtures = new Map(loadFixtures().map((fixture) => [fixture.name, fixture]));
const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const vertex = JSON.stringify({
  type: "service_account",
  project_id: "sample",
  private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
  client_email: "a@sample.iam.gserviceaccount.com",
});
/** Some make videos alone. */
const speakers = providers.filter(({ paths }) => paths.chat !== undefined);
const spoken = speakers.flatMap((provider) => waysOf(provider, { vertex }));
const seen = new Map<string, Cell>();

function keyOf({ provider, when }: Spoken, format: GenerationEndpoint, kind: Kind): string {
  return `${provider.type} ${when} ${format} ${kind}`;
}

/** Runs one cell; returns its result. */
async function cellOf(way: Spoken, format: GenerationEndpoint, kind: Kind): Promise<Cell> {
  const { channel, model } = way;
  const isStream = kind === "stream" || kind === "stream-tools";
  const request = requestOf(format, kind, model);
  if (request === undefined) return "unsayable";
  const plan = planCall(channel, { endpoint: format, model, isStream, apiVersion: "" }, () => "");
  if (plan.kind === "fault") throw new Error(`no plan: ${String(plan.code)} ${plan.detail}`);
  const answer = answerOf(fixtures, way, { format, way: plan.way.name, kind });
  if (answer === undefined) {
    // A wire without tools refuses them by name.
    const fallback = fixtures.get(`${way.wire.dialect}/plain`);
    if (fallback === undefined) throw new Error("no recorded answer");
    const { result } = await playCell(way, { format, isStream, request, answer: fallback });
    expect(result).toMatchObject({ kind: "fault", code: "unsupported_parameter" });
    return "refused";
  }
  const { result, bytes } = await playCell(way, { format, isStream, request, answer });
  if (kind === "fault") {
    // Each format spells it differently; the result is the same.
    const { status, retry } = answer.about.expect.fault ?? {};
    expect(result).toMatchObject({
      kind: "fault",
      ...(status !== undefined && { status }),
      ...(retry !== undefined && { retry }),
    });
    return "fault";
  }
  if (result.kind === "fault" && result.code === "unsupported_parameter") return "refused";
  expect(result).toMatchObject({ kind: isStream ? "stream" : "whole" });
  const text = bytes.toString();
  expect(text).toMatch(ENVELOPES[format]);
  if (kind.endsWith("tools")) expect(text).toContain("weather");
  return plan.way.name === "translate" ? "translated" : "passed";
}

function playCell(
  { channel, model }: Spoken,
  {
    format,
    isStream,
    request,
    answer,
  }: {
    format: GenerationEndpoint;
    isStream: boolean;
    request: Buffer;
    answer: NonNullable<ReturnType<typeof fixtures.get>>;
  },
) {
  const { status, contentType } = answer.about;
  const body = clientBody(request);
  return play({ channel, endpoint: format, body, model, isStream, status, contentType, reply: answer.reply });
}

describe.each(spoken.map((way) => [`${way.provider.slug} ${way.when}`.trim(), way] as const))(
  "%s",
  (_, way) => {
    it.each(FORMATS)("serves %s clients", async (format) => {
      for (const kind of KINDS) seen.set(keyOf(way, format, kind), await cellOf(way, format, kind));
    });
  },
);

it("docs/providers.md matches the results (vitest -u prints it again)", async () => {
  const file = join(import.meta.dirname, "..", "..", "..", "docs", "providers.md");
  const isServed = ({ channel, model }: Spoken, endpoint: TaskName) =>
    planCall(channel, { endpoint, model, isStream: false, apiVersion: "" }, () => "").kind === "plan";
  const page = printMatrix(spoken, (way, format, kind) => seen.get(keyOf(way, format, kind)), isServed);
  await expect(page).toMatchFileSnapshot(file);
});
