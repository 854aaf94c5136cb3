// Passkeys in this browser: whether there can be any, and the two ceremonies. What they need is loaded when it is used.
import type { AssertionAnswer, RegistrationAnswer } from "#contract/factor.ts";
import { ApiFault } from "./faults.ts";

const TROUBLES: Readonly<Record<string, string>> = {
  NotAllowedError: "没有完成通行密钥验证：已取消、超时，或设备未通过身份验证",
  InvalidStateError: "这个设备上已经有本账户的通行密钥",
  SecurityError: "当前网址与服务器地址不一致，无法使用通行密钥",
  AbortError: "通行密钥验证已取消",
};

/** Whether this browser, at this address, can use passkeys of the site `rpId`. */
export function canUsePasskeys(rpId: string): boolean {
  const { hostname } = window.location;
  const isSite = rpId !== "" && (hostname === rpId || hostname.endsWith(`.${rpId}`));
  return isSite && window.isSecureContext && "PublicKeyCredential" in window;
}

/** Throws: ApiFault with a sentence for what browsers say. */
function explain(error: unknown): never {
  const name = error instanceof Error ? error.name : "";
  throw new ApiFault("refused", TROUBLES[name] ?? "通行密钥验证失败，请重试", { cause: error });
}

/** Makes a passkey; the options are the server's. Throws: ApiFault. */
export async function createPasskey(options: unknown): Promise<RegistrationAnswer> {
  const { startRegistration } = await import("@simplewebauthn/browser");
  // The server's library made them for this one.
  const optionsJSON = options as Parameters<typeof startRegistration>[0]["optionsJSON"];
  const { clientExtensionResults, ...answer } = await startRegistration({ optionsJSON }).catch(explain);
  return { ...answer, clientExtensionResults: { ...clientExtensionResults } };
}

/** Asks for a passkey; the options are the server's. Throws: ApiFault. */
export async function askForPasskey(options: unknown): Promise<AssertionAnswer> {
  const { startAuthentication } = await import("@simplewebauthn/browser");
  // As above.
  const optionsJSON = options as Parameters<typeof startAuthentication>[0]["optionsJSON"];
  const { clientExtensionResults, ...answer } = await startAuthentication({ optionsJSON }).catch(explain);
  return { ...answer, clientExtensionResults: { ...clientExtensionResults } };
}
