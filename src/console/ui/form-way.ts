// The way from a list to the form of one of its rows, where typing begins there, and back to the list as it was left: its page,
// sorting and search.
import { useCallback } from "react";
import { useLocation, useNavigate } from "react-router";
import { NARROW, useMedia } from "#console/base/media.ts";

/** Opens a form; it remembers what the address of this list says at that moment: what was drawn last may be of the one before. */
export function useToForm(): (path: string) => void {
  const navigate = useNavigate();
  return (path) => void navigate(path, { state: { listSearch: window.location.search } });
}

/** Leaves a form for the list at `path`, as it was left, or as it is at first when the form was opened from elsewhere. */
export function useToList(path: string): () => void {
  const navigate = useNavigate();
  const state: unknown = useLocation().state;
  const search =
    typeof state === "object" && state !== null && "listSearch" in state ? String(state.listSearch) : "";
  return useCallback(() => void navigate(path + search), [navigate, path, search]);
}

/** Whether the first field to type into takes the focus: of what is new, unless a keyboard would then hide half of a phone's screen. */
export function useFirstFocus(isNew: boolean): boolean {
  const isNarrow = useMedia(NARROW);
  return isNew && !isNarrow;
}
