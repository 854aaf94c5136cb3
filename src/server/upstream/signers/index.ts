// How a channel's key becomes a credential: one signer per kind, named in the catalogue. Knows no channel, no storage.
import type { EndpointName, SignerName } from "#contract/providers.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { awsSigv4 } from "./aws.ts";
import {
  azureKey,
  baiduToken,
  bearer,
  bearerAndXApiKey,
  bearerAppId,
  googKey,
  klingJwt,
  token,
  xApiKey,
  xunfeiPair,
  xunfeiUrl,
  zhipuJwt,
} from "./plain.ts";
import { invalidKey, type Signer } from "./signer.ts";
import { tencentTc3 } from "./tencent.ts";
import { vertex } from "./vertex.ts";

export const signers: Readonly<Record<SignerName, Signer>> = {
  bearer,
  "azure-key": azureKey,
  "x-api-key": xApiKey,
  "bearer-x-api-key": bearerAndXApiKey,
  "bearer-app-id": bearerAppId,
  "goog-key": googKey,
  "baidu-token": baiduToken,
  "zhipu-jwt": zhipuJwt,
  "xunfei-url": xunfeiUrl,
  "xunfei-pair": xunfeiPair,
  "tencent-tc3": tencentTc3,
  "aws-sigv4": awsSigv4,
  vertex,
  "kling-jwt": klingJwt,
  token,
};

/** Vendors of OpenAI's wire use either header at their Anthropic-compatible address, so both are sent (vendors/claude-elsewhere). */
export function signerFor(name: SignerName, endpoint: EndpointName): Signer {
  const isMessages = endpoint === "messages" || endpoint === "count-tokens";
  return isMessages && name === "bearer" ? bearerAndXApiKey : signers[name];
}

/** A key without the form its kind needs: the fault `invalid_channel_key`; undefined = fine (requirements T2.4). */
export function keyFault(name: SignerName, key: string): RelayFault | undefined {
  return signers[name].check(key) === undefined ? undefined : invalidKey(name);
}
