// Sends a test message to a target, and says what became of it.
import { useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { alertApi } from "#contract/alert.ts";

export function useSendTest() {
  const test = useCall(alertApi.test, {
    invalidates: [alertApi.list, alertApi.deliveries],
    onSuccess: ({ is_ok, detail }) => {
      if (is_ok) toast.success("测试消息已发送！");
      else toast.error(`测试消息发送失败：${detail}`);
    },
  });
  return {
    isSending: test.isPending,
    send: (id: number) => test.mutate({ params: { id }, body: {} }),
  };
}
