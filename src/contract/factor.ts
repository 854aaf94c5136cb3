// Second factors and sessions: authenticator app, passkeys, recovery codes, the second half of a login, and proving again to be there.
// Paths of the login's second half and of the proof are those that New API has.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { User } from "./user.ts";
import { IdParams, Nothing, query } from "./wire.ts";

/** What proves the owner besides the password. */
export const FactorKind = z.enum(["totp", "passkey", "recovery", "password"]);
export type FactorKind = z.output<typeof FactorKind>;

/** The answer of a login. When a second factor is still to come the user's fields are empty, and there is no session yet. */
export const LoginUser = User.extend({
  require_2fa: z.literal(true).optional(),
  factors: z.array(FactorKind).optional(),
});
export type LoginUser = z.output<typeof LoginUser>;

/** Options of a ceremony, as browsers read them. */
const Ceremony = z.looseObject({ challenge: z.string() });

const binary = z.string().max(8_192);
const id = z.string().min(1).max(1_400);
/** What a browser answers to a ceremony; the library that judges it reads the rest. */
export const RegistrationAnswer = z.object({
  id,
  rawId: id,
  type: z.literal("public-key"),
  response: z.object({
    clientDataJSON: binary,
    attestationObject: z.string().max(32_768),
    transports: z.array(z.string().max(20)).max(8).optional(),
  }),
  clientExtensionResults: z.looseObject({}).default({}),
});
export type RegistrationAnswer = z.output<typeof RegistrationAnswer>;
export const AssertionAnswer = z.object({
  id,
  rawId: id,
  type: z.literal("public-key"),
  response: z.object({
    clientDataJSON: binary,
    authenticatorData: binary,
    signature: binary,
    userHandle: z.string().max(200).optional(),
  }),
  clientExtensionResults: z.looseObject({}).default({}),
});

export type AssertionAnswer = z.output<typeof AssertionAnswer>;

const Typed = z.string().trim().min(1, "请输入验证码").max(64);

/** What the page about security shows. */
export const FactorState = z.object({
  /** Seconds since 1970; 0 = there is none. */
  totp_created_at: z.int(),
  totp_used_at: z.int(),
  passkeys: z.array(
    z.object({
      id: z.int(),
      name: z.string(),
      created_at: z.int(),
      last_used_at: z.int(),
      is_synced: z.boolean(),
      is_suspicious: z.boolean(),
    }),
  ),
  recovery_left: z.int(),
  has_password: z.boolean(),
  /** Whether passkeys can be made here: the address of the server has a name. */
  passkeys_possible: z.boolean(),
  /** Whether the account must have a factor, and until when it may go on without, in seconds; 0 = it has one, or needs none. */
  is_required: z.boolean(),
  due_at: z.int(),
});
export type FactorState = z.output<typeof FactorState>;

/** A super administrator asked to remove the factors of another. Times in seconds. */
export const FactorReset = z.object({
  asked_by_name: z.string(),
  asked_at: z.int(),
  due_at: z.int(),
  /** Whether the reader asked, and so may carry it out. */
  is_mine: z.boolean(),
  /** "" for the owner. */
  reason: z.string(),
});
export type FactorReset = z.output<typeof FactorReset>;

/** New recovery codes, to be shown once; empty = the account has some. */
const Codes = z.object({ recovery_codes: z.array(z.string()) });

/** A session as its owner sees it. */
export const SessionInfo = z.object({
  id: z.string(),
  is_current: z.boolean(),
  created_at: z.int(),
  last_seen: z.int(),
  address: z.string(),
  /** Browser and system, e.g. `Chrome · Windows`. */
  agent: z.string(),
  method: z.string(),
  has_second_factor: z.boolean(),
});
export type SessionInfo = z.output<typeof SessionInfo>;

const name = z.string().trim().min(1, "请输入名称").max(40, "名称最多 40 个字符");

export const factorApi = {
  login: endpoint({
    method: "POST",
    path: "/api/user/login/2fa",
    level: "public",
    limit: "critical",
    summary: "登录的第二步：认证器验证码或恢复码；remember 使此浏览器 30 天内登录不再询问",
    body: z.object({ code: Typed, remember: z.boolean().default(false) }),
    data: LoginUser,
  }),
  askLoginPasskey: endpoint({
    method: "POST",
    path: "/api/user/login/passkey/begin",
    level: "public",
    limit: "critical",
    summary: "用通行密钥登录，或作为登录的第二步：取得浏览器所需的参数",
    data: Ceremony,
  }),
  loginPasskey: endpoint({
    method: "POST",
    path: "/api/user/login/passkey/finish",
    level: "public",
    limit: "critical",
    summary: "用通行密钥完成登录",
    body: AssertionAnswer,
    data: LoginUser,
  }),
  state: endpoint({
    method: "GET",
    path: "/api/user/factor",
    level: "user",
    enrols: true,
    summary: "我的验证方式",
    data: FactorState,
  }),
  beginTotp: endpoint({
    method: "POST",
    path: "/api/user/factor/totp/begin",
    level: "user",
    stepUp: "always",
    enrols: true,
    summary: "开始添加认证器应用：返回密钥与二维码内容，只在此处显示",
    data: z.object({ secret: z.string(), uri: z.string() }),
  }),
  finishTotp: endpoint({
    method: "POST",
    path: "/api/user/factor/totp",
    level: "user",
    stepUp: "always",
    enrols: true,
    summary: "用认证器应用的验证码完成添加；首次添加时返回恢复码",
    body: z.object({ code: Typed }),
    data: Codes,
  }),
  removeTotp: endpoint({
    method: "DELETE",
    path: "/api/user/factor/totp",
    level: "user",
    stepUp: "always",
    summary: "移除认证器应用",
    data: Nothing,
  }),
  recovery: endpoint({
    method: "POST",
    path: "/api/user/factor/recovery",
    level: "user",
    stepUp: "always",
    enrols: true,
    summary: "生成新的恢复码，旧的立即失效",
    data: Codes,
  }),
  beginPasskey: endpoint({
    method: "POST",
    path: "/api/user/factor/passkey/begin",
    level: "user",
    stepUp: "always",
    enrols: true,
    summary: "开始添加通行密钥：取得浏览器所需的参数",
    data: Ceremony,
  }),
  finishPasskey: endpoint({
    method: "POST",
    path: "/api/user/factor/passkey",
    level: "user",
    stepUp: "always",
    enrols: true,
    summary: "完成添加通行密钥；首次添加时返回恢复码",
    body: z.object({ name, credential: RegistrationAnswer }),
    data: Codes,
  }),
  renamePasskey: endpoint({
    method: "PUT",
    path: "/api/user/factor/passkey",
    level: "user",
    summary: "重命名通行密钥",
    body: z.object({ id: z.int().min(1), name }),
    data: Nothing,
  }),
  removePasskey: endpoint({
    method: "DELETE",
    path: "/api/user/factor/passkey/:id",
    level: "user",
    stepUp: "always",
    summary: "移除通行密钥",
    params: IdParams,
    data: Nothing,
  }),
  reset: endpoint({
    method: "POST",
    path: "/api/user/factor/reset",
    level: "admin",
    permission: "user.mfa.reset",
    stepUp: "always",
    summary:
      "清除级别更低的用户的全部验证方式，并结束其会话与系统访问令牌；对另一位超级管理员，首次调用提出申请，满 24 小时后由申请人再次调用执行",
    body: z.object({
      id: z.int().min(1),
      reason: z.string().trim().min(1, "请填写原因").max(200, "原因最多 200 个字符"),
    }),
    /** From when on it may be carried out, in seconds; 0 = it is done. */
    data: z.object({ due_at: z.int() }),
  }),
  pendingReset: endpoint({
    method: "GET",
    path: "/api/user/factor/reset",
    level: "user",
    enrols: true,
    summary: "清除验证方式的待执行申请；user_id 为他人时须为超级管理员",
    query: z.object({ user_id: query.count }),
    data: FactorReset.nullable(),
  }),
  cancelReset: endpoint({
    method: "POST",
    path: "/api/user/factor/reset/cancel",
    level: "user",
    stepUp: "always",
    enrols: true,
    summary: "撤销清除验证方式的申请：本人或任何超级管理员",
    body: z.object({ id: z.int().min(1) }),
    data: Nothing,
  }),
};

export const verifyApi = {
  methods: endpoint({
    method: "GET",
    path: "/api/verify",
    level: "user",
    enrols: true,
    summary: "可用于再次验证的方式",
    data: z.array(FactorKind),
  }),
  confirm: endpoint({
    method: "POST",
    path: "/api/verify",
    level: "user",
    enrols: true,
    limit: "critical",
    summary: "再次验证：认证器验证码，没有验证方式的账户用密码；此会话 5 分钟内有效",
    body: z.object({
      code: z.string().trim().max(64).optional(),
      password: z.string().max(512).optional(),
    }),
    data: Nothing,
  }),
  askPasskey: endpoint({
    method: "POST",
    path: "/api/verify/passkey/begin",
    level: "user",
    enrols: true,
    limit: "critical",
    summary: "用通行密钥再次验证：取得浏览器所需的参数",
    data: Ceremony,
  }),
  confirmPasskey: endpoint({
    method: "POST",
    path: "/api/verify/passkey/finish",
    level: "user",
    enrols: true,
    limit: "critical",
    summary: "用通行密钥再次验证",
    body: AssertionAnswer,
    data: Nothing,
  }),
};

export const sessionApi = {
  list: endpoint({
    method: "GET",
    path: "/api/user/session",
    level: "user",
    enrols: true,
    summary: "登录会话；user_id 为级别更低的用户时须为管理员",
    query: z.object({ user_id: query.count }),
    data: z.array(SessionInfo),
  }),
  end: endpoint({
    method: "POST",
    path: "/api/user/session/end",
    level: "user",
    enrols: true,
    summary: "结束一个会话，id 为空时结束其他全部会话，并取消对相应浏览器的信任",
    body: z.object({
      id: z.string().max(64).default(""),
      /** 0 = the actor. */
      user_id: z.int().min(0).default(0),
    }),
    data: z.int(),
  }),
};
