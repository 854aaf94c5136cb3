// Cloudflare's human check in the page: loads its script when it is wanted and returns its widget.
// The content policy allows that one script, and only while the check is switched on.
import { TURNSTILE_SCRIPT } from "./trusted-types.ts";

export interface TurnstileOptions {
  readonly sitekey: string;
  readonly theme: "light" | "dark";
  readonly language: string;
  readonly callback: (token: string) => void;
  readonly "expired-callback": () => void;
  readonly "error-callback": () => void;
}

export interface Turnstile {
  readonly render: (box: HTMLElement, options: TurnstileOptions) => string;
  readonly reset: (widget: string) => void;
  readonly remove: (widget: string) => void;
}

interface TurnstileWindow {
  readonly turnstile?: Turnstile;
}

function loaded(): Turnstile | undefined {
  // Put there by Cloudflare's script; absent until it has run.
  return (window as TurnstileWindow).turnstile;
}

/** Adds the script to the page. Throws: when it cannot be loaded. */
function addScript(): Promise<void> {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = TURNSTILE_SCRIPT;
    script.async = true;
    script.onload = () => resolve();
    script.onerror = () => {
      script.remove();
      reject(new Error("Turnstile 脚本加载失败，请检查网络后刷新页面"));
    };
    document.head.append(script);
  });
}

/** The script's interface, loaded on first use. Throws: when it cannot be loaded. */
export async function loadTurnstile(): Promise<Turnstile> {
  const ready = loaded();
  if (ready !== undefined) return ready;
  await addScript();
  const late = loaded();
  if (late === undefined) throw new Error("Turnstile 脚本没有就绪，请刷新页面");
  return late;
}
