// What was typed into a form when the session ran out is there again when its user is back at the form. Kept in the memory of the page,
// or of the tab while it logs in elsewhere (base/trip.ts), by the names that a form lists: no secret, and no amount that means a
// difference to what was shown.
import { useEffect, useEffectEvent, useState } from "react";
import { useLocation } from "react-router";
import { hasExpired, useUser } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { drafts } from "#console/base/trip.ts";

/** Returns what this user typed into these fields of this page before, if that was cut off; `changed` tells what is not saved. */
export function useDraft<Values extends object>(
  names: readonly (keyof Values & string)[],
  changed: () => Partial<Values>,
): Partial<Values> | undefined {
  const place = [useUser()?.id, useLocation().pathname, ...names].join(" ");
  // Kept under the names of these values.
  const [draft] = useState(() => drafts.get(place) as Partial<Values> | undefined);
  const keep = useEffectEvent(() => {
    const known = new Set<string>(names);
    const typed = Object.entries(changed()).filter(([name]) => known.has(name));
    if (typed.length > 0) drafts.set(place, Object.fromEntries(typed));
  });
  useEffect(() => {
    if (drafts.delete(place)) toast.info("已恢复登录过期前填写的内容，请检查后保存");
    return () => {
      if (hasExpired()) keep();
    };
  }, [place]);
  return draft;
}
