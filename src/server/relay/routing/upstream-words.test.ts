// What the log keeps of an upstream's words: enough to diagnose the channel, nothing of the client's request.
import { expect, it } from "vitest";
import { parseAttempts } from "#server/store/failed-attempts.ts";
import { networkFault } from "#server/upstream/errors/fault.ts";
import { chatReply, json } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, QUESTION } from "#test/worlds/relay-world.ts";
import { upstreamWords } from "./upstream-words.ts";

const world = createRelayWorld();

function kept(said: string, content: string, upstreamStatus = 500): string {
  const bytes = Buffer.from(JSON.stringify({ model: "gpt-4o", messages: [{ role: "user", content }] }));
  return upstreamWords({ upstreamStatus, words: `${upstreamStatus}: ${said}` }, { model: "gpt-4o", bytes });
}

it.each([
  ["Your credit balance is too low", "hello", "Your credit balance is too low"],
  ["The model gpt-4o does not exist", "my model exists", "The model gpt-4o does not exist"],
  ["cannot answer Melchior's secret", "what is Melchior's secret?", "cannot answer …'s …"],
  ["CUDA out of memory: SECRET", "the secret", "CUDA out of memory: …"],
  ["账户余额不足，请充值", "我的余额不足", "账户余额不足，请充值"],
  ["内容违规：张三的住址是长安街", "张三的住址是长安街一号", "内容违规：…"],
  ["内部错误 长安街九号", "长安街", "内部错误 …九号"],
  ["line\none\ttwo", "", "line one two"],
])("of %j after %j stays %j", (said, content, left) => {
  expect(kept(said, content)).toBe(left);
});

it("finds what a client wrote in JSON's escapes", () => {
  const bytes = Buffer.from('{"content":"\\u5f20\\u4e09 caf\\u00e9"}');
  const words = "500: 不认识张三 at café";
  expect(upstreamWords({ upstreamStatus: 500, words }, { model: "m", bytes })).toBe("不认识… at …");
});

it("keeps our own words of a proxy whole, whatever the request says", () => {
  const bytes = Buffer.from('{"content":"为什么无法连接"}');
  const fault = networkFault({ code: "proxy_unreachable", detail: "", isProxy: true });
  expect(upstreamWords(fault, { model: "m", bytes })).toBe("代理：无法连接");
});

it.each([400, 413, 415, 422])("keeps nothing of %i, which its client reads", (status) => {
  expect(kept("too long", "hello", status)).toBe("");
});

it("keeps nothing of an error without a message, or where the request is too long to be searched", () => {
  expect(kept("bad response status code 500", "hello")).toBe("");
  expect(upstreamWords({ upstreamStatus: 0, words: "" }, { model: "m", bytes: Buffer.alloc(1) })).toBe("");
  expect(kept("oops", "x".repeat(600_000))).toBe("");
});

it("is in the entry of the call, beside the channel that said it", async () => {
  const empty = await world.addChannel({ priority: 9 });
  await world.addChannel();
  await world.setOption("RetryTimes", "1");
  const message = "Your credit balance is too low, world (key sk-canary-0123456789abcdef)";
  world.upstream.script(json({ error: { message } }, 403), json(chatReply("Hello!")));
  const { log } = await world.costOf(() => world.ask(QUESTION));
  expect(parseAttempts(log?.trail ?? "")).toEqual([
    {
      channelId: empty,
      error: "upstream_403",
      said: "Your credit balance is too low, … (key ***)",
    },
  ]);
});
