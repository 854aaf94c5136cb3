// Codes of the WeChat account: short digits that can be guessed, so wrong ones are counted for all clients together, and a
// used code is remembered while it is valid (requirements W4.6, A20).
import { readWeChatPerson } from "#server/egress/wechat.ts";
import { faults } from "#server/errors.ts";
import { LIMITS } from "#server/limits/table.ts";
import type { Tools } from "#server/tools.ts";
import type { Person } from "./external.ts";

export interface WeChat {
  /** The identity that a code belongs to. Throws: AppError; 429 when too many were wrong. */
  identify(code: string, address: string): Promise<Person>;
}

export type WeChatTools = Pick<Tools, "options" | "egress" | "coord" | "secrets" | "events" | "limits">;

/** A code is valid for three minutes at the WeChat server (requirements B5). */
const CODE_LIFE_MS = 180_000;

export function createWeChat(tools: WeChatTools): WeChat {
  /** The WeChat id of a code; undefined = wrong, or used before. Throws: AppError when the WeChat server cannot be reached. */
  async function ask(code: string): Promise<string | undefined> {
    const { options, secrets } = tools;
    const result = await readWeChatPerson(tools.egress, {
      url: options.get("WeChatServerAddress"),
      token: options.get("WeChatServerToken"),
      code,
    });
    if (result.kind === "problem") {
      const { problem, isProxy } = result;
      tools.events.externalFailed({ service: "wechat", problem, isProxy });
      if (isProxy) throw faults.proxyFailed("微信登录失败", problem);
      throw faults.refused("微信服务暂时不可用，请稍后再试", problem);
    }
    if (result.kind === "none") return undefined;
    // The same digits for another user are another code.
    const used = `wechat:used:${secrets.hash(`wechat ${code} ${result.id}`)}`;
    return (await tools.coord.remember(used, CODE_LIFE_MS)) ? result.id : undefined;
  }

  return {
    async identify(code, address) {
      if (!tools.options.get("WeChatAuthEnabled")) throw faults.refused("管理员未启用该登录方式");
      if (code === "") throw faults.refused("请输入验证码");
      const id = await tools.limits.guess({
        limits: [{ limit: LIMITS.wechat, subject: "" }],
        evaluate: () => ask(code),
        isWrong: (found) => found === undefined,
        onRefused: () => tools.events.rateLimited({ limit: "wechat", address }),
      });
      if (id === undefined) throw faults.refused("验证码无效或已过期");
      return { identity: "wechat_id", id, importedId: "", displayName: "", email: "" };
    },
  };
}
