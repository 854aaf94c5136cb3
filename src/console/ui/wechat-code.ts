// What may be typed as a WeChat code (requirements B5, "must be non-empty").
import { z } from "zod";

export const WeChatCode = z.object({ code: z.string().trim().min(1, "请输入验证码") });
