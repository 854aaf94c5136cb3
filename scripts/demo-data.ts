// What the demo starts with: users, tokens, channels and a week of calls, each reserved and settled by the real ledger at
// its time, so that every balance is the sum of its entries.
import { ChannelStatus } from "#contract/channel.ts";
import { TokenStatus } from "#contract/token.ts";
import { Role, UserStatus } from "#contract/user.ts";
import { readConfig } from "#server/config.ts";
import { type Context, createContext } from "#server/context.ts";
import { charge, explain, type Usage } from "#server/money/price.ts";
import { hashPassword, newAffCode, newRequestId, newTokenKey } from "#server/secrets.ts";
import { insertChannels, setChannelTest } from "#server/store/channels.ts";
import { insertToken } from "#server/store/tokens.ts";
import { insertUser } from "#server/store/users.ts";

const HOUR_MS = 3_600_000;
const DAYS = 7;
const CALLS = 420;

export const users = [
  {
    username: "root",
    password: "123456",
    title: "super administrator",
    role: Role.root,
    tokens: ["控制台测试"],
  },
  {
    username: "lihua",
    password: "river-stone-42",
    title: "user",
    role: Role.user,
    tokens: ["翻译服务", "知识库"],
  },
  {
    username: "wangfang",
    password: "quiet-lantern-7",
    title: "administrator",
    role: Role.admin,
    tokens: ["内部工具"],
  },
] as const;

interface DemoToken {
  readonly id: number;
  readonly userId: number;
  readonly key: string;
  readonly username: string;
}

interface DemoChannel {
  readonly id: number;
  readonly models: readonly string[];
}

interface Place {
  readonly dataDir: string;
  readonly upstreamUrl: string;
  readonly upstreamPort: string;
}

/** A clock that is moved through the past week, so that entries carry the time they tell of. */
function movableClock(startMs: number) {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    seconds: () => Math.floor(nowMs / 1000),
    moveTo: (ms: number) => {
      nowMs = ms;
    },
  };
}

/** Evenly spread numbers in [0, 1), the same in every run (mulberry32). */
function repeatableRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Fills an empty data directory. Returns the key of a token that works. */
export async function fillDemo(place: Place): Promise<{ key: string }> {
  const endMs = Date.now();
  const clock = movableClock(endMs - DAYS * 24 * HOUR_MS);
  const config = readConfig({
    DATA_DIR: place.dataDir,
    LOG_LEVEL: "error",
    EGRESS_ALLOW: `127.0.0.0/8:${place.upstreamPort}`,
  });
  const ctx = await createContext(config, { clock });
  try {
    const tokens = await createPeople(ctx);
    const channels = await createChannels(ctx, place.upstreamUrl);
    const random = repeatableRandom(20_260_101);
    const times = Array.from({ length: CALLS }, () => callTime(random, endMs)).sort((a, b) => a - b);
    for (const timeMs of times) {
      clock.moveTo(timeMs);
      await book(ctx, random, pick(random, tokens), pick(random, channels));
    }
    clock.moveTo(endMs);
    const first = tokens.find(({ username }) => username === "lihua");
    if (!first) throw new Error("the demo has no token");
    return { key: first.key };
  } finally {
    await ctx.dispose();
  }
}

/** More calls by day than by night, and none in the future. */
function callTime(random: () => number, endMs: number): number {
  const dayMs = endMs - Math.floor(random() * DAYS) * 24 * HOUR_MS;
  const awayHours = random() ** 1.5 * 22;
  return Math.floor(dayMs - awayHours * HOUR_MS);
}

function pick<T>(random: () => number, list: readonly T[]): T {
  // The earlier ones are used more.
  const chosen = list[Math.floor(random() ** 1.6 * list.length)];
  if (chosen === undefined) throw new Error("nothing to pick from");
  return chosen;
}

async function createPeople(ctx: Context): Promise<DemoToken[]> {
  const tokens: DemoToken[] = [];
  for (const user of users) {
    const id = user.role === Role.root ? 1 : await createUser(ctx, user);
    for (const name of user.tokens)
      tokens.push(await createToken(ctx, { id, username: user.username }, name));
  }
  // lihua's first token is the one shown; it comes first and is used most.
  return tokens.sort((a, b) => Number(b.username === "lihua") - Number(a.username === "lihua"));
}

async function createUser(ctx: Context, user: (typeof users)[number]): Promise<number> {
  const id = await insertUser(ctx.db, {
    username: user.username,
    password: await hashPassword(user.password),
    display_name: user.username,
    role: user.role,
    status: UserStatus.enabled,
    email: `${user.username}@example.com`,
    github_id: "",
    wechat_id: "",
    access_token_hash: null,
    group: "default",
    aff_code: newAffCode(),
    inviter_id: 0,
    created_at: ctx.clock.seconds(),
  });
  await ctx.ledger.adjust({
    userId: id,
    kind: "grant",
    quota: { delta: 10_000_000n },
    actorId: 1,
    reason: "演示额度",
  });
  return id;
}

async function createToken(
  ctx: Context,
  user: { id: number; username: string },
  name: string,
): Promise<DemoToken> {
  const key = newTokenKey();
  const nowSec = ctx.clock.seconds();
  const id = await insertToken(ctx.db, {
    user_id: user.id,
    key_hash: ctx.secrets.hash(key),
    key_sealed: ctx.secrets.seal(key, "tokens.key"),
    status: TokenStatus.enabled,
    name,
    created_time: nowSec,
    accessed_time: nowSec,
    expired_time: -1,
    unlimited_quota: 0,
    models: "",
    subnet: "",
  });
  await ctx.ledger.adjust({
    userId: user.id,
    tokenId: id,
    kind: "token-adjust",
    quota: { target: 5_000_000n },
    actorId: user.id,
    reason: "演示额度",
  });
  return { id, userId: user.id, key, username: user.username };
}

async function createChannels(ctx: Context, upstreamUrl: string): Promise<DemoChannel[]> {
  const plans = [
    {
      type: 1,
      name: "OpenAI 主线路",
      base: upstreamUrl,
      priority: 10,
      models: ["gpt-4o-mini", "gpt-4.1", "gpt-5-mini"],
      other: "",
    },
    {
      type: 3,
      name: "Azure 备用",
      base: upstreamUrl,
      priority: 5,
      models: ["gpt-4o-mini", "gpt-4o"],
      other: "2024-10-21",
    },
    {
      type: 20,
      name: "OpenRouter",
      base: `${upstreamUrl}/api`,
      priority: 0,
      models: ["gpt-4.1", "gpt-4o", "gpt-5-mini"],
      other: "",
    },
  ];
  const nowSec = ctx.clock.seconds();
  const ids = await insertChannels(
    ctx.db,
    plans.map((plan, index) => ({
      type: plan.type,
      key_hash: ctx.secrets.hash(`demo-upstream-key-${index}`),
      key_sealed: ctx.secrets.seal(`demo-upstream-key-${index}`, "channels.key"),
      status: ChannelStatus.enabled,
      status_reason: "",
      status_time: 0,
      name: plan.name,
      weight: 1,
      priority: plan.priority,
      created_time: nowSec,
      test_time: 0,
      response_time: 0,
      base_url: plan.base,
      other: plan.other,
      balance: 0,
      balance_updated_time: 0,
      models: plan.models.join(","),
      group: "default,vip",
      model_mapping: "",
      config: "",
    })),
  );
  const channels = ids.map((id, index) => ({ id, models: plans[index]?.models ?? [] }));
  for (const [index, { id }] of channels.entries()) {
    await setChannelTest(ctx.db, id, { responseTimeMs: 380 + index * 910, now: nowSec });
  }
  return channels;
}

/** One call as the relay books it: reserve, then settle with its log entry. */
async function book(
  ctx: Context,
  random: () => number,
  token: DemoToken,
  channel: DemoChannel,
): Promise<void> {
  const model = pick(random, channel.models);
  const price = ctx.prices().find(model, model, "default");
  if (!price) throw new Error(`${model} has no price`);
  const promptTokens = 40 + Math.floor(random() ** 2 * 4000);
  const usage: Usage = {
    promptTokens,
    completionTokens: 20 + Math.floor(random() ** 2 * 1500),
    cachedTokens: random() < 0.3 ? Math.floor(promptTokens / 2) : 0,
  };
  const amount = charge(usage, price);
  const requestId = newRequestId(ctx.clock.now());
  const parties = { requestId, userId: token.userId, tokenId: token.id };
  const verdict = await ctx.ledger.reserve({ ...parties, amount, modelName: model });
  if (verdict !== "reserved") return;
  const firstByteMs = 180 + Math.floor(random() * 900);
  await ctx.ledger.settle({
    ...parties,
    channelId: channel.id,
    charge: amount,
    usage,
    log: {
      content: explain(usage, price, amount),
      model_name: model,
      elapsed_time: firstByteMs + usage.completionTokens * 11,
      first_byte_time: firstByteMs,
      is_stream: random() < 0.7 ? 1 : 0,
      estimated: 0,
    },
  });
}
