// Waits for the first toast, then loads what draws them: the first paint is free of it. Where that does not come, since the network is
// gone, toasts are shown plainly until the page is loaded anew: browsers do not ask for a module a second time.
import { type ComponentType, useEffect, useState } from "react";
import { takeToasts, useWaitingToasts } from "#console/base/toast.ts";
import "./toast-host.css";

/** Awaited here: the bundler fetches styles ahead of what is chained to an import itself, and their failure would stay unhandled. */
async function loadToasts(): Promise<{ readonly Toasts: ComponentType }> {
  return await import("./toasts.tsx");
}

export function ToastHost() {
  const waiting = useWaitingToasts();
  const isWanted = waiting.length > 0;
  const [loaded, setLoaded] = useState<Awaited<ReturnType<typeof loadToasts>>>();
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    if (isWanted && !loaded && !isMissing) loadToasts().then(setLoaded, () => setMissing(true));
  }, [isWanted, loaded, isMissing]);
  if (loaded) return <loaded.Toasts />;
  if (!isMissing || !isWanted) return null;
  return (
    <div role="alert" className="tg-plain-toasts">
      {[...new Set(waiting.map(({ text }) => text))].map((text) => (
        <p key={text}>{text}</p>
      ))}
      <button type="button" onClick={takeToasts}>
        关闭
      </button>
    </div>
  );
}
