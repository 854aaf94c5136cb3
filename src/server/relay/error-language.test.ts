// Errors of calls are read by people too: in the language that the token's owner chose, else as the client's headers say.
import { expect, it } from "vitest";
import { updateUserProfile } from "#server/store/users.ts";
import { createRelayWorld, MODEL, QUESTION } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const CHINESE = /[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]/;
const ENGLISH = { "accept-language": "en" };

async function refusal(init: Parameters<typeof world.ask>[1] = {}): Promise<string> {
  const answer = await world.ask({ ...QUESTION, model: "nobody-has-this" }, init);
  const { error } = (await answer.json()) as { error: { message: string } };
  return error.message;
}

it("follows the headers of the client, Chinese without any", async () => {
  await world.addChannel({ models: MODEL });
  expect(await refusal()).toMatch(CHINESE);
  expect(await refusal({ headers: ENGLISH })).toMatch(/^[ -~]*nobody-has-this[ -~]*$/);
  expect(await refusal({ headers: ENGLISH, key: "unknown" })).not.toMatch(CHINESE);
});

it("follows the owner of the token before them", async () => {
  await updateUserProfile(world.ctx.db, world.userId, { language: "en" });
  await world.ctx.coord.publish("users", String(world.userId));
  expect(await refusal()).not.toMatch(CHINESE);
  expect(await refusal({ headers: { "accept-language": "zh-CN" } })).not.toMatch(CHINESE);
  await updateUserProfile(world.ctx.db, world.userId, { language: "zh" });
  await world.ctx.coord.publish("users", String(world.userId));
  expect(await refusal({ headers: ENGLISH })).toMatch(CHINESE);
});
