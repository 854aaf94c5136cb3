// What the demo starts with: users and their tokens, channels in every state, redemption codes, and a month of calls.
import { ChannelStatus } from "#contract/channel.ts";
import { RedemptionStatus } from "#contract/redemption.ts";
import { TokenStatus } from "#contract/token.ts";
import { Role, UserStatus } from "#contract/user.ts";
import { readConfig } from "#server/config.ts";
import { type Context, createContext } from "#server/context.ts";
import { redeem } from "#server/money/redeem.ts";
import { hashPassword, newAffCode, newTokenKey, randomHex } from "#server/secrets.ts";
import {
  insertChannels,
  setChannelBalance,
  setChannelStatus,
  setChannelTest,
} from "#server/store/channels.ts";
import { insertRedemptions } from "#server/store/redemptions.ts";
import { insertToken } from "#server/store/tokens.ts";
import { insertUser } from "#server/store/users.ts";
import { bookCalls, type DemoChannel, type DemoToken, demoStartMs, movableClock } from "./demo-calls.ts";

interface DemoUser {
  readonly username: string;
  readonly password: string;
  readonly title: string;
  readonly role: number;
  readonly group: string;
  readonly tokens: readonly string[];
}

/** Their passwords are printed; the others cannot log in. */
export const users: readonly DemoUser[] = [
  {
    username: "root",
    password: "123456",
    title: "super administrator",
    role: Role.root,
    group: "default",
    tokens: ["控制台测试"],
  },
  {
    username: "lihua",
    password: "river-stone-42",
    title: "user",
    role: Role.user,
    group: "default",
    tokens: ["翻译服务", "知识库", "周报助手"],
  },
  {
    username: "wangfang",
    password: "quiet-lantern-7",
    title: "administrator",
    role: Role.admin,
    group: "vip",
    tokens: ["内部工具"],
  },
];

const OTHER_USERS: readonly DemoUser[] = [
  { username: "chenjie", group: "vip", tokens: ["客服机器人"] },
  { username: "zhaomin", group: "svip", tokens: ["代码评审", "单元测试"] },
  { username: "sunyue", group: "default", tokens: ["数据标注"] },
  { username: "liuyang", group: "default", tokens: ["默认"] },
  { username: "zhouping", group: "vip", tokens: ["文档问答"] },
].map((user) => ({ ...user, password: "", title: "user", role: Role.user }));

interface DemoTarget {
  readonly dataDir: string;
  readonly upstreamUrl: string;
  readonly upstreamPort: string;
}

/** Fills an empty data directory. Returns the key of a token that works. */
export async function fillDemo(target: DemoTarget): Promise<{ key: string }> {
  const endMs = Date.now();
  const clock = movableClock(demoStartMs(endMs));
  const config = readConfig({
    DATA_DIR: target.dataDir,
    LOG_LEVEL: "fatal",
    EGRESS_ALLOW: `127.0.0.0/8:${target.upstreamPort}`,
  });
  const ctx = await createContext(config, { clock });
  try {
    const tokens = await createPeople(ctx);
    const channels = await createChannels(ctx, target.upstreamUrl);
    await createCodes(ctx, tokens);
    await bookCalls(ctx, clock, { tokens, channels, endMs });
    await finishChannels(ctx, channels);
    const first = tokens.find(({ username }) => username === "lihua");
    if (!first) throw new Error("the demo has no token");
    return { key: first.key };
  } finally {
    await ctx.dispose();
  }
}

async function createPeople(ctx: Context): Promise<DemoToken[]> {
  const tokens: DemoToken[] = [];
  for (const user of [...users, ...OTHER_USERS]) {
    const id = user.role === Role.root ? 1 : await createUser(ctx, user);
    for (const name of user.tokens)
      tokens.push(await createToken(ctx, { id, username: user.username }, name));
  }
  // lihua's first token is the one shown; it comes first and is used most.
  return tokens.sort((a, b) => Number(b.username === "lihua") - Number(a.username === "lihua"));
}

async function createUser(ctx: Context, user: DemoUser): Promise<number> {
  const id = await insertUser(ctx.db, {
    username: user.username,
    password: user.password === "" ? "" : await hashPassword(user.password),
    display_name: user.username,
    role: user.role,
    status: UserStatus.enabled,
    email: `${user.username}@example.com`,
    github_id: "",
    wechat_id: "",
    access_token_hash: null,
    group: user.group,
    aff_code: newAffCode(),
    inviter_id: 0,
    created_at: ctx.clock.seconds(),
  });
  await ctx.ledger.adjust({
    userId: id,
    kind: "grant",
    quota: { delta: 30_000_000n },
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
    quota: { target: 15_000_000n },
    actorId: user.id,
    reason: "演示额度",
  });
  return { id, userId: user.id, key, username: user.username };
}

interface ChannelPlan extends Omit<DemoChannel, "id"> {
  readonly type: number;
  readonly name: string;
  /** Path behind the address of the upstream; undefined = the provider's own address, which nothing calls. */
  readonly path?: string;
  readonly priority: number;
  readonly group?: string;
  readonly other?: string;
  readonly balance?: number;
  /** Where it is now; enabled when absent. */
  readonly end?: { readonly status: number; readonly reason: string };
}

const PLANS: readonly ChannelPlan[] = [
  {
    type: 1,
    name: "OpenAI 主线路",
    path: "",
    priority: 10,
    models: ["gpt-4o-mini", "gpt-4.1", "gpt-5-mini"],
    pace: 420,
    failing: 0.004,
  },
  {
    type: 3,
    name: "Azure 东部",
    path: "",
    priority: 8,
    models: ["gpt-4o", "gpt-4o-mini"],
    other: "2024-10-21",
    group: "default,vip,svip",
    pace: 1_150,
    failing: 0.01,
  },
  {
    type: 20,
    name: "OpenRouter",
    path: "/api",
    priority: 5,
    models: ["gpt-4.1", "gpt-4o", "gpt-5-mini"],
    pace: 2_400,
    failing: 0.03,
  },
  {
    type: 8,
    name: "自建推理集群",
    path: "",
    priority: 5,
    models: ["deepseek-v3.2", "qwen3-32b", "gpt-4o-mini"],
    group: "svip",
    balance: 128.5,
    pace: 260,
    failing: 0.002,
  },
  {
    type: 4,
    name: "CloseAI 备用",
    path: "",
    priority: 0,
    models: ["gpt-4o", "gpt-4.1"],
    balance: 42.18,
    pace: 3_700,
    failing: 0.08,
    end: { status: ChannelStatus.disabled, reason: "" },
  },
  {
    type: 14,
    name: "Claude 试用",
    priority: 0,
    models: [],
    pace: 0,
    failing: 0,
    end: { status: ChannelStatus.autoDisabled, reason: "上游返回 401：密钥无效" },
  },
];

async function createChannels(ctx: Context, upstreamUrl: string): Promise<DemoChannel[]> {
  const nowSec = ctx.clock.seconds();
  const ids = await insertChannels(
    ctx.db,
    PLANS.map((plan, index) => ({
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
      base_url: plan.path === undefined ? "" : `${upstreamUrl}${plan.path}`,
      other: plan.other ?? "",
      balance: 0,
      balance_updated_time: 0,
      models: plan.models.length === 0 ? "claude-sonnet-4-5" : plan.models.join(","),
      group: plan.group ?? "default,vip",
      model_mapping: "",
      config: "",
    })),
  );
  return PLANS.flatMap(({ models, pace, failing }, index) => {
    const id = ids[index];
    return id === undefined || models.length === 0 ? [] : [{ id, models, pace, failing }];
  });
}

/** What tests, balances and troubles have left behind by now. */
async function finishChannels(ctx: Context, channels: readonly DemoChannel[]): Promise<void> {
  const now = ctx.clock.seconds();
  const firstId = channels[0]?.id ?? 1;
  for (const [index, { pace, balance, end }] of PLANS.entries()) {
    const id = firstId + index;
    if (pace > 0) await setChannelTest(ctx.db, id, { responseTimeMs: Math.floor(pace * 1.4), now });
    if (balance !== undefined) await setChannelBalance(ctx.db, id, { amount: balance, now });
    if (end !== undefined)
      await setChannelStatus(ctx.db, id, {
        from: [ChannelStatus.enabled],
        to: end.status,
        reason: end.reason,
        now,
      });
  }
}

const CODES = 6;

/** A batch of codes, the first of which a user has redeemed. */
async function createCodes(ctx: Context, tokens: readonly DemoToken[]): Promise<void> {
  const keys = Array.from({ length: CODES }, () => randomHex(32));
  await insertRedemptions(
    ctx.db,
    keys.map((key, index) => ({
      user_id: 1,
      key_hash: ctx.secrets.hash(key),
      key_sealed: ctx.secrets.seal(key, "redemptions.key"),
      status: index === 1 ? RedemptionStatus.disabled : RedemptionStatus.unused,
      name: index < 2 ? "内测奖励" : "开学活动",
      quota: 5_000_000,
      created_time: ctx.clock.seconds(),
    })),
  );
  const [user] = tokens;
  const [key] = keys;
  if (user === undefined || key === undefined) return;
  await redeem(ctx, { userId: user.userId, key, giftCode: "" });
}
