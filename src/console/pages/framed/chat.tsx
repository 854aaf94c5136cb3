// The chat client that the operator linked to. No key of the visitor is put into its address (requirements H08).
import { useUser } from "#console/base/session.ts";
import { useStatus } from "#console/base/status.ts";
import { FramePage } from "#console/ui/frame-page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";

export function ChatPage() {
  const user = useUser();
  return (
    <FramePage title="聊天" link={useStatus()?.chat_link} option="聊天页面链接">
      {user === undefined ? (
        <LinkButton to="/">回到首页</LinkButton>
      ) : (
        <LinkButton to="/playground">去操练场试试</LinkButton>
      )}
    </FramePage>
  );
}
