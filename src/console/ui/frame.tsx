// A page of another site inside ours (requirements H02): it can neither read what is ours nor lead the visitor away.
import { useLayoutEffect } from "react";
import "./frame.css";

/** What a framed page may do. Never: navigate the window around it. */
const SANDBOX = "allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox allow-downloads";

/** Whether an address is of another origin than ours: then a page may keep its own storage without reaching ours. */
export function isForeign(address: string, own: string): boolean {
  return URL.canParse(address, own) && new URL(address, own).origin !== new URL(own).origin;
}

export interface FrameProps {
  readonly title: string;
  /** http(s) address or path of this site. */
  readonly address: string;
  /** An application that needs its own storage, such as a chat client; granted to other origins only. */
  readonly isApp?: boolean;
}

const RENEWED = "frame_renewed";

/**
 * The policy of the loaded page names the sites it may frame (requirements H03): one that the operator has named since then needs the
 * page anew, once.
 */
function useFreshPolicy(address: string): void {
  // Before the frame can be refused.
  useLayoutEffect(() => {
    const { href } = new URL(address, window.location.href);
    const renew = ({ effectiveDirective, blockedURI }: SecurityPolicyViolationEvent) => {
      const isOurs = effectiveDirective === "frame-src" && !isForeign(blockedURI, href);
      if (!isOurs || sessionStorage.getItem(RENEWED) === href) return;
      sessionStorage.setItem(RENEWED, href);
      window.location.reload();
    };
    document.addEventListener("securitypolicyviolation", renew);
    return () => document.removeEventListener("securitypolicyviolation", renew);
  }, [address]);
}

export function Frame({ title, address, isApp = false }: FrameProps) {
  useFreshPolicy(address);
  const keepsStorage = isApp && isForeign(address, window.location.href);
  return (
    <iframe
      className="tg-frame"
      title={title}
      src={address}
      sandbox={keepsStorage ? `${SANDBOX} allow-same-origin` : SANDBOX}
      referrerPolicy="no-referrer"
      allow="clipboard-write; fullscreen"
    />
  );
}
