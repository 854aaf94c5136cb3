// The human check of a form: Cloudflare's box when the server asks for it, and the proof it gives.
import { useEffect, useRef, useState } from "react";
import { messages } from "#console/base/faults.ts";
import { LOCALE } from "#console/base/language.ts";
import { useStatus } from "#console/base/status.ts";
import { useThemeMode } from "#console/base/theme-mode.ts";
import { toast } from "#console/base/toast.ts";
import { loadTurnstile } from "#console/base/turnstile.ts";
import "./human-check.css";

export interface HumanCheck {
  /** The proof to send, "" when no check is asked for; undefined = not solved yet, and the user was told so (requirements B5). */
  readonly take: () => string | undefined;
  readonly isOn: boolean;
  readonly siteKey: string;
  readonly onProof: (proof: string) => void;
  /** Grows with every proof taken: a proof counts once, so the box must be solved again. */
  readonly round: number;
}

export function useHumanCheck(): HumanCheck {
  const status = useStatus();
  const [proof, setProof] = useState("");
  const [round, setRound] = useState(0);
  const isOn = status?.turnstile_check === true;
  const take = () => {
    if (!isOn) return "";
    if (proof === "") {
      toast.warning(messages.checking);
      return undefined;
    }
    setProof("");
    setRound(round + 1);
    return proof;
  };
  return { take, isOn, siteKey: status?.turnstile_site_key ?? "", onProof: setProof, round };
}

interface BoxProps {
  readonly siteKey: string;
  readonly onProof: (proof: string) => void;
}

function Box({ siteKey, onProof }: BoxProps) {
  const place = useRef<HTMLDivElement>(null);
  const mode = useThemeMode();
  const [failure, setFailure] = useState<string>();
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    let take = () => {};
    let isGone = false;
    const show = async () => {
      try {
        const turnstile = await loadTurnstile();
        if (isGone || place.current === null) return;
        const widget = turnstile.render(place.current, {
          sitekey: siteKey,
          theme: mode,
          language: LOCALE.toLowerCase(),
          callback: onProof,
          "expired-callback": () => onProof(""),
          "error-callback": () => onProof(""),
        });
        take = () => turnstile.remove(widget);
        setShown(true);
      } catch (error) {
        setFailure(error instanceof Error ? error.message : messages.failed);
      }
    };
    void show();
    return () => {
      isGone = true;
      take();
    };
  }, [siteKey, mode, onProof]);
  return (
    <div className="tg-human">
      <div ref={place} />
      {isShown || failure !== undefined ? null : <p className="tg-human-wait">正在加载人机验证…</p>}
      {failure === undefined ? null : <p role="alert">{failure}</p>}
    </div>
  );
}

/** The box itself; nothing when no check is asked for. */
export function HumanCheckBox({ check }: { readonly check: HumanCheck }) {
  if (!check.isOn) return null;
  return <Box key={check.round} siteKey={check.siteKey} onProof={check.onProof} />;
}
