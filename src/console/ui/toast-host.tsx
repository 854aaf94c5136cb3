// Waits for the first toast, then loads what draws them. Keeps the first paint free of it.
import { lazy, Suspense, useState } from "react";
import { useWaitingToasts } from "#console/base/toast.ts";

const Toasts = lazy(async () => ({ default: (await import("./toasts.tsx")).Toasts }));

export function ToastHost() {
  const isWanted = useWaitingToasts().length > 0;
  const [isLoaded, setLoaded] = useState(false);
  if (isWanted && !isLoaded) setLoaded(true);
  return isLoaded ? (
    <Suspense fallback={null}>
      <Toasts />
    </Suspense>
  ) : null;
}
