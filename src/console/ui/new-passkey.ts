// Adds a passkey to the own account; the page knows what browser and system it is made in.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { call, invalidate } from "#console/base/call.ts";
import { faultText } from "#console/base/faults.ts";
import { createPasskey } from "#console/base/passkey.ts";
import { toast } from "#console/base/toast.ts";
import { describePlace } from "#console/base/words.ts";
import { factorApi } from "#contract/factor.ts";

/** `onDone` gets the recovery codes that were made beside the first factor, else none. */
export function useNewPasskey(onDone: (codes: readonly string[]) => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async () => {
      const options = await call(factorApi.beginPasskey, {});
      const credential = await createPasskey(options);
      const name = describePlace(navigator.userAgent);
      return call(factorApi.finishPasskey, { body: { name, credential } });
    },
    meta: { silent: true },
    onSuccess: ({ recovery_codes }) => {
      void invalidate(client, [factorApi.state]);
      toast.success("通行密钥已添加！");
      onDone(recovery_codes);
    },
    onError: (error) => toast.error(faultText(error)),
  });
}
