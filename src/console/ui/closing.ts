// How a call of a dialog ends.
import { toast } from "#console/base/toast.ts";
import type { Endpoint } from "#contract/endpoint.ts";

/** For `useCall`: what these endpoints answered is stale, what was done is said, and the dialog closes. */
export function closing(invalidates: readonly Endpoint[], said: string, onClose: () => void) {
  return {
    invalidates,
    onSuccess() {
      toast.success(said);
      onClose();
    },
  };
}
