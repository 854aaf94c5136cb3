// A device with passkeys in the browser of a test: it knows its owner and answers at once, as one does whose owner touches it.
import type { CDPSession, Page } from "playwright-core";

export interface VirtualAuthenticator {
  readonly device: CDPSession;
  readonly authenticatorId: string;
}

/** Connects a device to a page, for as long as the page is open. */
export async function connectAuthenticator(page: Page): Promise<VirtualAuthenticator> {
  const device = await page.context().newCDPSession(page);
  await device.send("WebAuthn.enable");
  const { authenticatorId } = await device.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { device, authenticatorId };
}
