// The frame of a page that is read by everybody: the light one for guests, the console's for users.
import { lazy, Suspense } from "react";
import { Outlet, useLocation } from "react-router";
import { useUser } from "#console/base/session.ts";
import { GuestFrame } from "./guest-frame.tsx";
import { pageAt, usePages } from "./shell/nav.ts";

const Shell = lazy(async () => ({ default: (await import("./shell/shell.tsx")).Shell }));

export function OpenFrame() {
  const user = useUser();
  const page = pageAt(usePages(), useLocation().pathname);
  if (user === undefined)
    return (
      <GuestFrame title={page?.title ?? ""}>
        <Outlet />
      </GuestFrame>
    );
  return (
    <Suspense fallback={null}>
      <Shell />
    </Suspense>
  );
}
