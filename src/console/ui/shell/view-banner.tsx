// Above every page while an administrator looks at the console of another user: whose it is, until when, and the way back.
import { EyeOutlined } from "@ant-design/icons";
import { useQueryClient } from "@tanstack/react-query";
import { Button } from "antd";
import { useEffect, useRef } from "react";
import { useCall } from "#console/base/call.ts";
import { formatTime } from "#console/base/format.ts";
import { useUser } from "#console/base/session.ts";
import { beginAnew } from "#console/ui/begin-anew.ts";
import { viewApi } from "#contract/view-as.ts";

/** Back to the list of users. */
function leave(): void {
  void beginAnew("/user");
}

/** Ends the view, and goes back to the users. */
export function useEndView(): { readonly end: () => void; readonly isBusy: boolean } {
  const ended = useCall(viewApi.end, { onSuccess: leave });
  return { end: () => ended.mutate({}), isBusy: ended.isPending };
}

/** Another window of this browser began or ended a view: what this one has read is of another user. */
function useOtherWindows(whose: string): void {
  const client = useQueryClient();
  const known = useRef(whose);
  useEffect(() => {
    if (known.current === whose) return;
    known.current = whose;
    void client.resetQueries();
  }, [client, whose]);
}

export function ViewBanner() {
  const user = useUser();
  const { end, isBusy } = useEndView();
  const until = user?.viewer?.until ?? 0;
  useOtherWindows(`${user?.id} ${until}`);
  useEffect(() => {
    if (until === 0) return;
    const timer = setTimeout(leave, Math.max(0, until * 1000 - Date.now()));
    return () => clearTimeout(timer);
  }, [until]);
  if (user?.viewer === undefined) return null;
  return (
    <section className="tg-view-banner" aria-label="以其他用户的身份查看">
      <EyeOutlined aria-hidden="true" />
      <span>
        {user.viewer.username} 正在以 <strong>{user.username}</strong> 的身份查看：只读，不显示密钥，
        {formatTime(until)} 自动结束
      </span>
      <Button size="small" loading={isBusy} onClick={end}>
        结束查看
      </Button>
    </section>
  );
}
