// Channel types that make videos and nothing else. Their models are charged by the second; which ones there are and what they cost, the
// operator says.
import type { Provider } from "./provider.ts";

export const videoTypes: readonly Provider[] = [
  {
    type: 102,
    slug: "kling",
    label: "可灵 Kling",
    kind: "vendor",
    color: "teal",
    baseUrl: "https://api.klingai.com",
    keyHint: "按照如下格式输入：AccessKey|SecretKey",
    keyParts: ["AccessKey", "SecretKey"],
    dialect: "openai",
    signer: "kling-jwt",
    paths: {},
    video: "kling",
  },
  {
    type: 103,
    slug: "vidu",
    label: "Vidu",
    kind: "vendor",
    color: "purple",
    baseUrl: "https://api.vidu.cn",
    baseUrlHint: "国内版 https://api.vidu.cn，国际版 https://api.vidu.com",
    keyHint: "请输入 API Key，例如：vda_xxxxxxxx",
    dialect: "openai",
    signer: "token",
    paths: {},
    video: "vidu",
  },
];
