// The API reference: the endpoint table as an OpenAPI 3.1 document. Printed, never written by hand; decides nothing.
import { z } from "zod";
import type { Endpoint } from "./endpoint.ts";

/** A value of the document: JSON. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };
export type JsonObject = { readonly [name: string]: JsonValue };

export type ApiTable = Readonly<Record<string, Readonly<Record<string, Endpoint>>>>;

/** Names of the parts of the reference; a resource without one goes by its own. */
const TAGS: Readonly<Record<string, string>> = {
  status: "公开信息",
  catalogue: "模型广场",
  auth: "登录与注册",
  firstRun: "首次启动",
  invitation: "邀请",
  oauth: "第三方登录",
  signOn: "第三方登录",
  loginProvider: "登录服务",
  mailDomain: "邮箱域名",
  factor: "两步验证",
  verify: "再次验证",
  session: "登录会话",
  user: "当前用户",
  account: "我的账户",
  userAdmin: "用户管理",
  view: "以用户的身份查看",
  token: "令牌",
  userToken: "用户的令牌",
  limit: "限额",
  team: "团队",
  teamAdmin: "团队管理",
  keySearch: "密钥查找",
  groupAdmin: "分组",
  redemption: "兑换码",
  payment: "在线支付",
  paymentAdmin: "支付管理",
  partner: "推广计划",
  channel: "渠道",
  channelKey: "渠道密钥",
  channelModels: "上游模型",
  route: "路由解释",
  usage: "用量报表",
  log: "日志",
  option: "系统选项",
  plan: "套餐",
  priceDraft: "价格草稿",
  priceList: "价格版本",
  modelPrice: "模型与价格",
  margin: "毛利",
  alert: "消息通知",
  audit: "操作审计",
  receipt: "账单小票",
  statement: "账单",
  invoice: "发票",
  payout: "提现",
  task: "任务",
  books: "对账",
  staff: "管理员权限集",
  serviceAccount: "服务账户",
};

const LEVELS: Readonly<Record<Endpoint["level"], string>> = {
  public: "无需登录",
  user: "需要登录",
  admin: "需要管理员（角色 ≥ 10）",
  root: "需要超级管理员（角色 100）",
};

const INTRODUCTION = `管理接口的所有应答均为 JSON，包含 success、message 与 data；业务错误以 HTTP 200 与 success=false 返回。
列表的 p 从 0 开始，size 为 1 到 100，默认 10，data 旁的 total 为总数。路径末尾有无斜杠均可。
过于频繁时返回 429，Retry-After 为须等待的秒数：每个地址默认 3 分钟 480 次。
身份以会话 Cookie 或 Authorization 请求头中的系统访问令牌、服务账户的令牌证明。/v1 下的转发接口与 OpenAI 兼容，不在本文档之列。`;

const FAILURE = "#/components/schemas/Failure";

/** Prints the document of a table. */
export function printOpenApi(table: ApiTable, version: string): JsonObject {
  const paths: Record<string, Record<string, JsonValue>> = {};
  for (const [resource, endpoints] of Object.entries(table)) {
    for (const [verb, endpoint] of Object.entries(endpoints)) {
      const path = endpoint.path.replace(/:(\w+)/g, "{$1}");
      const operations = paths[path] ?? {};
      operations[endpoint.method.toLowerCase()] = operation(`${resource}.${verb}`, tagOf(resource), endpoint);
      paths[path] = operations;
    }
  }
  return {
    openapi: "3.1.0",
    info: { title: "Tollgate 管理接口", version, description: INTRODUCTION },
    tags: [...new Set(Object.keys(table).map(tagOf))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        session: { type: "apiKey", in: "cookie", name: "session", description: "登录后的会话 Cookie" },
        accessToken: {
          type: "apiKey",
          in: "header",
          name: "Authorization",
          description: "系统访问令牌，可带 Bearer 前缀",
        },
      },
      schemas: {
        Failure: {
          type: "object",
          properties: {
            success: { const: false },
            message: { type: "string", description: "说明原因的中文句子" },
            data: { type: "null" },
            code: {
              type: "string",
              description:
                "仅状态 403：VERIFICATION_REQUIRED、VERIFICATION_EXPIRED、VERIFICATION_INVALID 须再次验证，MFA_ENROLMENT_REQUIRED 须先添加验证方式",
            },
          },
          required: ["success", "message", "data"],
        },
      },
    },
  };
}

function tagOf(resource: string): string {
  return TAGS[resource] ?? resource;
}

function operation(operationId: string, tag: string, endpoint: Endpoint): JsonObject {
  const parameters = [
    ...parametersOf(endpoint.params, "path"),
    ...parametersOf(endpoint.query, "query"),
    ...(endpoint.turnstile && !endpoint.query?.shape["turnstile"]
      ? [
          {
            name: "turnstile",
            in: "query",
            description: "人机验证凭据，启用校验时必填",
            schema: { type: "string" },
          },
        ]
      : []),
  ];
  return {
    operationId,
    tags: [tag],
    summary: endpoint.summary,
    description: descriptionOf(endpoint),
    ...(endpoint.level === "public"
      ? { security: [] }
      : { security: [{ session: [] }, { accessToken: [] }] }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(endpoint.body
      ? {
          requestBody: {
            required: true,
            content: { "application/json": { schema: wireSchema(endpoint.body) } },
          },
        }
      : {}),
    responses: responsesOf(endpoint),
  };
}

function descriptionOf({ level, limit, mutates }: Endpoint): string {
  return [
    LEVELS[level],
    ...(limit === "critical" ? ["与登录、注册等敏感操作共享每个地址的频率限制"] : []),
    ...(mutates ? ["此 GET 会改变状态，拒绝跨站请求"] : []),
  ].join("；");
}

function responsesOf(endpoint: Endpoint): JsonObject {
  const json = (schema: JsonValue) => ({ "application/json": { schema } });
  const failure = (description: string) => ({ description, content: json({ $ref: FAILURE }) });
  return {
    "200": {
      description: "成功；或业务错误，此时 success 为 false",
      content: json({ oneOf: [answerSchema(endpoint), { $ref: FAILURE }] }),
    },
    ...(endpoint.level === "public" ? {} : { "401": failure("未登录或登录已过期") }),
    ...(endpoint.method !== "GET" || endpoint.mutates ? { "403": failure("拒绝跨站请求") } : {}),
    ...(endpoint.undecodable ? { "400": failure("正文不是 JSON") } : {}),
    ...(endpoint.body ? { "413": failure("正文过大") } : {}),
    "429": { description: "请求过于频繁；Retry-After 为等待的秒数，应答无正文" },
    "503": failure("暂时无法处理，请稍后再试"),
  };
}

/** The envelope of a successful answer, with the fields beside `data`. */
export function answerSchema({ data, beside }: Pick<Endpoint, "data" | "beside">): JsonObject {
  const siblings = beside ? answered(beside) : {};
  // Names of fields, as zod printed them.
  const required = (siblings["required"] ?? []) as readonly string[];
  return {
    type: "object",
    properties: {
      success: { const: true },
      message: { type: "string" },
      data: answered(data),
      ...(siblings["properties"] as JsonObject | undefined), // `properties` of an object's schema
    },
    required: [...new Set(["success", "message", "data", ...required])],
  };
}

/** What a client may send. */
function wireSchema(schema: z.ZodType): JsonObject {
  return tidy(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }));
}

/** What the server sends: the same wire form, but fields with a default are always there. */
function answered(schema: z.ZodType): JsonObject {
  const printed = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override({ zodSchema, jsonSchema }) {
      const { def } = zodSchema._zod;
      delete jsonSchema.default;
      ownForm(jsonSchema);
      if (def.type !== "object" || !("shape" in def)) return;
      // The shape of an object schema is a record of schemas.
      const shape = def.shape as Record<string, z.core.$ZodType>;
      jsonSchema.required = Object.keys(shape).filter((name) => shape[name]?._zod.def.type !== "optional");
    },
  });
  return tidy(printed);
}

/** Of a field that is lenient towards other servers (wire.ts): the form in which ours sends it, without null. */
function ownForm(printed: z.core.JSONSchema.BaseSchema): void {
  if (printed["lenient"] !== true) return;
  const [own] = printed.anyOf ?? [];
  delete printed["lenient"];
  delete printed.anyOf;
  Object.assign(printed, own);
}

/** Without what says nothing: the dialect, bounds that are only those of exact numbers, and defaults of answers' rows. */
function tidy(schema: unknown): JsonObject {
  const text = JSON.stringify(schema, (name, value: unknown) => {
    if (name === "$schema" || name === "~standard") return undefined;
    return value === Number.MAX_SAFE_INTEGER || value === -Number.MAX_SAFE_INTEGER ? undefined : value;
  });
  // What JSON.stringify made of an object, JSON.parse makes an object again.
  return JSON.parse(text) as JsonObject;
}

function parametersOf(schema: z.ZodObject | undefined, place: "path" | "query"): JsonObject[] {
  if (!schema) return [];
  const { properties, required } = wireSchema(schema);
  const needed = Array.isArray(required) ? required : [];
  // `properties` of an object's schema is a record.
  return Object.entries((properties ?? {}) as JsonObject).map(([name, value]) => ({
    name,
    in: place,
    ...(place === "path" || needed.includes(name) ? { required: true } : {}),
    schema: value,
  }));
}
