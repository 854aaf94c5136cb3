// The mark of this installation: the configured logo, or the built-in mark.
import { useState } from "react";
import { useLogo } from "#console/base/status.ts";

/** The built-in mark: a post with its arm raised. */
export function Mark({ size = 28 }: { readonly size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="#0b7265" />
      <path d="M10 25V13" stroke="#fff" strokeWidth="4" strokeLinecap="round" />
      <path d="M10 13 24 7.5" stroke="#8fe3d3" strokeWidth="4" strokeLinecap="round" />
      <path d="M16 25h8" stroke="#fff" strokeOpacity=".55" strokeWidth="3" strokeLinecap="round" />
    </svg>
  );
}

/** Logo of the status record; falls back to the mark when there is none or it does not load. */
export function Logo({ size = 28 }: { readonly size?: number }) {
  const address = useLogo();
  const [broken, setBroken] = useState<string>();
  if (address === undefined || broken === address) return <Mark size={size} />;
  return (
    <img
      src={address}
      alt=""
      width={size}
      height={size}
      referrerPolicy="no-referrer"
      style={{ objectFit: "contain" }}
      onError={() => setBroken(address)}
    />
  );
}
