// A page of somebody else inside ours (reliability H02): it can neither read what is ours nor lead the visitor away.
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

export function Frame({ title, address, isApp = false }: FrameProps) {
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
